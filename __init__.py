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

from .engine.call import Call as Call
from .engine.content import Audio as Audio
from .engine.content import EmbeddedResource as EmbeddedResource
from .engine.content import Image as Image
from .engine.content import ResourceLink as ResourceLink
from .engine.content import Text as Text
from .engine.deprecated_questions import ListRoots as ListRoots
from .engine.deprecated_questions import Root as Root
from .engine.deprecated_questions import Sample as Sample
from .engine.deprecated_questions import Sampled as Sampled
from .engine.deprecated_questions import SamplingMessage as SamplingMessage
from .engine.errors import AntiphonError as AntiphonError
from .engine.errors import DefinitionError as DefinitionError
from .engine.errors import IllegalMove as IllegalMove
from .engine.errors import InvalidReply as InvalidReply
from .engine.errors import PeerError as PeerError
from .engine.errors import ProtocolError as ProtocolError
from .engine.errors import SealingError as SealingError
from .engine.errors import ToolError as ToolError
from .engine.errors import UsageError as UsageError
from .engine.errors import WorldError as WorldError
from .engine.exchange import Principal as Principal
from .engine.exchange import TransportLost as TransportLost
from .engine.forms import Email as Email
from .engine.forms import Uri as Uri
from .engine.forms import choice_of as choice_of
from .engine.limits import Limits as Limits
from .engine.machine import Progress as Progress
from .engine.outcomes import Done as Done
from .engine.outcomes import Failed as Failed
from .engine.questions import Consent as Consent
from .engine.questions import Form as Form
from .engine.questions import Link as Link
from .engine.questions import Together as Together
from .engine.questions import all_of as all_of
from .engine.sealing import Codec as Codec
from .engine.sealing import generate_key as generate_key
from .flows.flow import Flow as Flow
from .flows.graph import Edge as Edge
from .flows.server import Server as Server
from .flows.states import Acting as Acting
from .flows.states import Asking as Asking
from .flows.states import Polling as Polling
from .flows.testing import walk as walk

if TYPE_CHECKING:
    from .transports.asgi import http_app as http_app
    from .transports.connect import connect_client as connect_client
    from .transports.connect import open_client as open_client
    from .transports.stdio import run_stdio as run_stdio
    from .transports.stdio import serve_stdio as serve_stdio

__version__ = "0.1.0"

# What only one kind of program needs is imported when it is asked for: a stdio server starts
# without HTTP, a server without a client.
_LATE = {
    "http_app": "transports.asgi",
    "connect_client": "transports.connect",
    "open_client": "transports.connect",
    "run_stdio": "transports.stdio",
    "serve_stdio": "transports.stdio",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  # whatever the name stands for
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LATE[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE})
