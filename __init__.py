"""Antiphon: a trio-native engine for multi-round MCP requests.

Declare a flow as a class (:class:`Flow`, :class:`Asking`, :class:`Polling`, :class:`Acting`),
register it with a :class:`Server`, serve it with :func:`http_app` or :func:`run_stdio`, and
call it with :func:`open_client`. The rooms behind this face are ``antiphon.engine``,
``antiphon.flows`` and ``antiphon.transports``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Meta as Meta

from .engine.by_hand import InputRequired as InputRequired
from .engine.call import Call as Call
from .engine.completion import Complete as Complete
from .engine.completion import Completion as Completion
from .engine.content import Audio as Audio
from .engine.content import EmbeddedResource as EmbeddedResource
from .engine.content import Image as Image
from .engine.content import ResourceLink as ResourceLink
from .engine.content import Structured as Structured
from .engine.content import Text as Text
from .engine.deprecated_questions import ListRoots as ListRoots
from .engine.deprecated_questions import Root as Root
from .engine.deprecated_questions import Sample as Sample
from .engine.deprecated_questions import Sampled as Sampled
from .engine.deprecated_questions import SamplingMessage as SamplingMessage
from .engine.display import Annotations as Annotations
from .engine.display import Icon as Icon
from .engine.display import ToolAnnotations as ToolAnnotations
from .engine.errors import AntiphonError as AntiphonError
from .engine.errors import CallError as CallError
from .engine.errors import DefinitionError as DefinitionError
from .engine.errors import IllegalMove as IllegalMove
from .engine.errors import InvalidReply as InvalidReply
from .engine.errors import MissingCapability as MissingCapability
from .engine.errors import PeerError as PeerError
from .engine.errors import ProtocolError as ProtocolError
from .engine.errors import ResourceNotFound as ResourceNotFound
from .engine.errors import SealingError as SealingError
from .engine.errors import ToolError as ToolError
from .engine.errors import UsageError as UsageError
from .engine.errors import WorldError as WorldError
from .engine.exchange import Principal as Principal
from .engine.exchange import TransportLost as TransportLost
from .engine.forms import Email as Email
from .engine.forms import Uri as Uri
from .engine.forms import choice_of as choice_of
from .engine.incoming import Incoming as Incoming
from .engine.limits import Limits as Limits
from .engine.lowlevel import LowLevelServer as LowLevelServer
from .engine.machine import Progress as Progress
from .engine.mirrored import header as header
from .engine.outcomes import Done as Done
from .engine.outcomes import Failed as Failed
from .engine.prompt_content import PromptMessage as PromptMessage
from .engine.prompt_content import assistant as assistant
from .engine.prompt_content import user as user
from .engine.questions import Consent as Consent
from .engine.questions import Form as Form
from .engine.questions import Given as Given
from .engine.questions import Invalid as Invalid
from .engine.questions import Link as Link
from .engine.questions import Question as Question
from .engine.questions import Refusal as Refusal
from .engine.questions import Together as Together
from .engine.questions import all_of as all_of
from .engine.resource_content import ResourceContents as ResourceContents
from .engine.sealing import Codec as Codec
from .engine.sealing import generate_key as generate_key
from .flows.ask_parameters import Ask as Ask
from .flows.flow import Flow as Flow
from .flows.graph import Edge as Edge
from .flows.server import Server as Server
from .flows.states import Acting as Acting
from .flows.states import Asking as Asking
from .flows.states import Polling as Polling

if TYPE_CHECKING:
    from .engine.answering import AuditEntry as AuditEntry
    from .engine.asked import Accept as Accept
    from .engine.asked import Cancel as Cancel
    from .engine.asked import Decline as Decline
    from .engine.asked import FormRequest as FormRequest
    from .engine.asked import UrlRequest as UrlRequest
    from .engine.asked_deprecated import RootsRequest as RootsRequest
    from .engine.asked_deprecated import SamplingReply as SamplingReply
    from .engine.asked_deprecated import SamplingRequest as SamplingRequest
    from .engine.asked_links import LinkWarning as LinkWarning
    from .engine.call_errors import AnswerInvalid as AnswerInvalid
    from .engine.call_errors import DeadlineExceeded as DeadlineExceeded
    from .engine.call_errors import LegTimeout as LegTimeout
    from .engine.call_errors import PeopleTimeout as PeopleTimeout
    from .engine.call_errors import QuestionRefused as QuestionRefused
    from .engine.call_errors import RoundsExceeded as RoundsExceeded
    from .engine.call_errors import ServerError as ServerError
    from .engine.call_errors import UnreadableDump as UnreadableDump
    from .engine.call_errors import VersionMismatch as VersionMismatch
    from .engine.changes import Change as Change
    from .engine.changes import ListChanged as ListChanged
    from .engine.changes import Reconnected as Reconnected
    from .engine.changes import ResourceUpdated as ResourceUpdated
    from .engine.changes import Watched as Watched
    from .engine.client import Client as Client
    from .engine.client_reads import PromptRef as PromptRef
    from .engine.client_reads import TemplateRef as TemplateRef
    from .engine.client_schemas import ResultInvalid as ResultInvalid
    from .engine.client_schemas import SchemaUnusable as SchemaUnusable
    from .engine.client_subscriptions import Changes as Changes
    from .engine.conversation import Asked as Asked
    from .engine.conversation import Waiting as Waiting
    from .engine.driver import Conversation as Conversation
    from .engine.hearing import LogMessage as LogMessage
    from .engine.pacing import Backoff as Backoff
    from .engine.result_cache import ResultCache as ResultCache
    from .engine.retrying import RetryPolicy as RetryPolicy
    from .engine.store import ConversationStore as ConversationStore
    from .engine.store import StoredCall as StoredCall
    from .engine.store_errors import AnswerUncertain as AnswerUncertain
    from .engine.store_errors import ConversationClaimed as ConversationClaimed
    from .engine.store_errors import ConversationGone as ConversationGone
    from .engine.store_errors import LeaseLost as LeaseLost
    from .engine.store_errors import StoreError as StoreError
    from .engine.store_errors import StoreUnusable as StoreUnusable
    from .flows.asks import flow_of as flow_of
    from .flows.testing import walk as walk
    from .transports.asgi import http_app as http_app
    from .transports.child import open_child as open_child
    from .transports.connect import connect_client as connect_client
    from .transports.connect import open_client as open_client
    from .transports.connect import open_transport as open_transport
    from .transports.http_answer import BadStatus as BadStatus
    from .transports.http_client import open_http as open_http
    from .transports.line_client import open_lines as open_lines
    from .transports.memory import MemoryTransport as MemoryTransport
    from .transports.memory import open_memory as open_memory
    from .transports.stdio import run_stdio as run_stdio
    from .transports.stdio import serve_lines as serve_lines
    from .transports.stdio import serve_stdio as serve_stdio
    from .transports.store_sqlite import open_store as open_store

__version__ = "0.1.0"

# What only one kind of program needs is imported when it is asked for: a stdio server starts
# without HTTP, a server without a client.
_LATE = {
    "AuditEntry": "engine.answering",
    "Accept": "engine.asked",
    "Cancel": "engine.asked",
    "Decline": "engine.asked",
    "FormRequest": "engine.asked",
    "UrlRequest": "engine.asked",
    "RootsRequest": "engine.asked_deprecated",
    "SamplingReply": "engine.asked_deprecated",
    "SamplingRequest": "engine.asked_deprecated",
    "LinkWarning": "engine.asked_links",
    "AnswerInvalid": "engine.call_errors",
    "DeadlineExceeded": "engine.call_errors",
    "LegTimeout": "engine.call_errors",
    "PeopleTimeout": "engine.call_errors",
    "QuestionRefused": "engine.call_errors",
    "RoundsExceeded": "engine.call_errors",
    "ServerError": "engine.call_errors",
    "UnreadableDump": "engine.call_errors",
    "VersionMismatch": "engine.call_errors",
    "Change": "engine.changes",
    "ListChanged": "engine.changes",
    "Reconnected": "engine.changes",
    "ResourceUpdated": "engine.changes",
    "Watched": "engine.changes",
    "Client": "engine.client",
    "PromptRef": "engine.client_reads",
    "TemplateRef": "engine.client_reads",
    "ResultInvalid": "engine.client_schemas",
    "SchemaUnusable": "engine.client_schemas",
    "Changes": "engine.client_subscriptions",
    "Asked": "engine.conversation",
    "Waiting": "engine.conversation",
    "Conversation": "engine.driver",
    "LogMessage": "engine.hearing",
    "Backoff": "engine.pacing",
    "ResultCache": "engine.result_cache",
    "RetryPolicy": "engine.retrying",
    "ConversationStore": "engine.store",
    "StoredCall": "engine.store",
    "AnswerUncertain": "engine.store_errors",
    "ConversationClaimed": "engine.store_errors",
    "ConversationGone": "engine.store_errors",
    "LeaseLost": "engine.store_errors",
    "StoreError": "engine.store_errors",
    "StoreUnusable": "engine.store_errors",
    "flow_of": "flows.asks",
    "walk": "flows.testing",
    "http_app": "transports.asgi",
    "open_child": "transports.child",
    "connect_client": "transports.connect",
    "open_client": "transports.connect",
    "open_transport": "transports.connect",
    "BadStatus": "transports.http_answer",
    "open_http": "transports.http_client",
    "open_lines": "transports.line_client",
    "MemoryTransport": "transports.memory",
    "open_memory": "transports.memory",
    "run_stdio": "transports.stdio",
    "serve_lines": "transports.stdio",
    "serve_stdio": "transports.stdio",
    "open_store": "transports.store_sqlite",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  # whatever the name stands for
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LATE[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})


_NOT_OURS = {
    "engine",
    "flows",
    "transports",
    "annotations",
    "import_module",
    "TYPE_CHECKING",
    "Any",
}

if not TYPE_CHECKING:  # a checker reads the names from the imports
    # `from antiphon import *` imports what is late; `import antiphon` does not.
    __all__ = [name for name in __dir__() if name[0] != "_" and name not in _NOT_OURS]
