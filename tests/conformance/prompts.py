"""The suite's prompts: of several content kinds, and one that asks."""

from typing import Annotated, Final

from attrs import frozen

from antiphon import Asking, Done, EmbeddedResource, Flow, Form, Image, Meta, Server
from antiphon.engine.completion import Complete, options
from tests.conformance.plain_tools import PNG

_FILTERS: Final = ("test", "testing", "other")


async def test_simple_prompt() -> str:
    """Return one message."""
    return "This is a simple prompt for testing."


async def test_prompt_with_arguments(
    arg1: Annotated[str, Meta(description="First test argument"), Complete(options(_FILTERS))],
    arg2: Annotated[str, Meta(description="Second test argument")],
) -> str:
    """Return both arguments."""
    return f"Prompt with arguments: arg1={arg1!r}, arg2={arg2!r}"


async def test_prompt_with_embedded_resource(
    resourceUri: Annotated[str, Meta(description="The uri to embed")],  # noqa: N803  # the suite's
) -> list[EmbeddedResource | str]:
    """Return a resource, then text."""
    contents = "Embedded resource content for testing."
    return [
        EmbeddedResource(resourceUri, contents, "text/plain"),
        "Please process the embedded resource above.",
    ]


async def test_prompt_with_image() -> list[Image | str]:
    """Return an image, then text."""
    return [Image(PNG, "image/png"), "Please analyze the image above."]


@frozen
class Nothing:
    """The arguments of a prompt that takes none."""


@frozen
class Context:
    context: str


@frozen
class AskingContext(Asking[Context]):
    def ask(self) -> Form[Context]:
        return Form("What context should the prompt use?", Context, key="user_context")


@frozen
class PromptWithContext(Flow[Nothing]):
    """Ask for a context, and return it in a message."""

    async def begin(self, args: Nothing) -> AskingContext:
        return AskingContext()

    @AskingContext.answered
    async def given(self, at: AskingContext, answer: Context) -> Done[str]:
        return Done(f"Use this context: {answer.context}")


def add_prompts(server: Server) -> None:
    """Register them all."""
    for function in (
        test_simple_prompt,
        test_prompt_with_arguments,
        test_prompt_with_embedded_resource,
        test_prompt_with_image,
    ):
        server.prompt(function)
    server.prompt(PromptWithContext(), name="test_input_required_result_prompt")
