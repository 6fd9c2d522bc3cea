"""Review a change: the client's model and its roots in one round, then a branch.

Few hosts can be asked for sampling and roots, so the state that asks for them has an
``unavailable`` edge: such a client gets a form instead. Serve it on stdio with
``python examples/review.py``, or with ``hypercorn -k trio examples.review:app``.
"""

import os
from typing import Literal

from attrs import frozen

from antiphon import (
    Asking,
    Done,
    Failed,
    Flow,
    Form,
    ListRoots,
    Root,
    Sample,
    Sampled,
    Server,
    Together,
    all_of,
    http_app,
    run_stdio,
)


@frozen
class ReviewArgs:
    diff: str


@frozen
class Verdict:
    decision: Literal["approve", "reject"]
    remark: str = ""


@frozen
class Review:
    decision: str
    remark: str
    opinion: str
    roots: list[str]


@frozen
class GatheringOpinion(Asking[tuple[Sampled, tuple[Root, ...]]]):
    diff: str

    def ask(self) -> Together[tuple[Sampled, tuple[Root, ...]]]:
        return all_of(
            Sample(
                f"Is this change risky? Begin with RISKY or SAFE.\n\n{self.diff}",
                max_tokens=200,
                key="opinion",
            ),
            ListRoots(key="roots"),
        )


@frozen
class AwaitingVerdict(Asking[Verdict]):
    opinion: str
    roots: list[str]

    def ask(self) -> Form[Verdict]:
        reason = self.opinion or "No model could be asked about it."
        return Form(f"Approve this change?\n\n{reason}", Verdict, key="verdict")


@frozen
class ReviewChange(Flow[ReviewArgs]):
    """Review a change. Safe changes pass; for risky ones a person decides."""

    name = "review"

    async def begin(self, args: ReviewArgs) -> GatheringOpinion:
        return GatheringOpinion(args.diff)

    @GatheringOpinion.answered
    async def opinion_given(
        self, at: GatheringOpinion, answers: tuple[Sampled, tuple[Root, ...]]
    ) -> AwaitingVerdict | Done[Review]:
        opinion, roots = answers
        uris = [root.uri for root in roots]
        if opinion.text.startswith("SAFE"):
            return Done(Review("approve", "safe by the model's opinion", opinion.text, uris))
        return AwaitingVerdict(opinion.text, uris)

    @GatheringOpinion.unavailable
    async def without_a_model(self, at: GatheringOpinion) -> AwaitingVerdict:
        return AwaitingVerdict("", [])

    @AwaitingVerdict.answered
    async def decided(self, at: AwaitingVerdict, verdict: Verdict) -> Done[Review]:
        return Done(Review(verdict.decision, verdict.remark, at.opinion, at.roots))

    @AwaitingVerdict.refused
    async def left_open(self, at: AwaitingVerdict) -> Failed:
        return Failed("The change is not reviewed: nobody decided.")


server = Server("Reviewer", version="1.0", keys=os.environ.get("ANTIPHON_KEYS", "").split() or None)
server.tool(ReviewChange())
app = http_app(server)

if __name__ == "__main__":
    run_stdio(server)
