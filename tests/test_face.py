"""The public names, and what importing them costs."""

import subprocess
import sys

import pytest

import antiphon

NAMES = """
Accept Acting Annotations AnswerInvalid AnswerUncertain AntiphonError Ask Asked Asking Audio
AuditEntry Backoff BadStatus Call CallError Cancel Change Changes Client Codec Complete Completion
Consent Conversation ConversationClaimed ConversationGone ConversationStore DeadlineExceeded
Decline DefinitionError Done Edge Email EmbeddedResource Failed Flow Form FormRequest Given Icon
IllegalMove Image Incoming InputRequired Invalid InvalidReply LeaseLost LegTimeout Limits Link
LinkWarning ListChanged ListRoots LogMessage LowLevelServer MemoryTransport Meta MissingCapability
PeerError PeopleTimeout Polling Principal Progress PromptMessage PromptRef ProtocolError Question
QuestionRefused Reconnected Refusal ResourceContents ResourceLink ResourceNotFound ResourceUpdated
ResultCache ResultInvalid RetryPolicy Root RootsRequest RoundsExceeded Sample Sampled
SamplingMessage SamplingReply SamplingRequest SchemaUnusable SealingError Server ServerError
StoreError StoreUnusable StoredCall Structured TemplateRef Text Together ToolAnnotations ToolError
TransportLost UnreadableDump Uri UrlRequest UsageError VersionMismatch Waiting Watched WorldError
all_of assistant choice_of connect_client flow_of generate_key header http_app open_child
open_client open_http open_lines open_memory open_store open_transport run_stdio serve_lines
serve_stdio user walk
""".split()  # noqa: SIM905  # a list that is read and compared in review


def test_the_public_names_are_these() -> None:
    rooms = {"engine", "flows", "transports", "annotations", "import_module"}
    public = {name for name in dir(antiphon) if not name.startswith("_")}
    assert sorted(public - rooms - {"TYPE_CHECKING", "Any"}) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_there(name: str) -> None:
    assert getattr(antiphon, name) is not None


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'antiphon' has no attribute 'Sever'"):
        getattr(antiphon, "Sever")  # noqa: B009  # no checker knows it either


_LATE = [
    *("httpx2", "hypercorn", "questionary", "rich", "h11", "zoneinfo"),
    *("antiphon.flows.testing", "antiphon.engine.handshake_session"),
]


@pytest.mark.parametrize("module", _LATE)
def test_a_server_author_does_not_wait_for(module: str) -> None:
    program = f"import sys, antiphon; antiphon.run_stdio; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_star_stands_for_all_of_them() -> None:
    room: dict[str, object] = {}
    exec("from antiphon import *", room)
    assert sorted(room.keys() - {"__builtins__"}) == sorted(NAMES)
