"""Sealed states: what a server needs in the next round travels through the client, closed."""

from .claims import Claims as Claims
from .claims import Origin as Origin
from .codec import Codec as Codec
from .codec import SecretBoxCodec as SecretBoxCodec
from .digests import arguments_digest as arguments_digest
from .digests import question_digest as question_digest
from .errors import INVALID_STATE as INVALID_STATE
from .errors import Reason as Reason
from .errors import TokenRefused as TokenRefused
from .exact import pack as pack
from .exact import unpack as unpack
from .keys import generate_key as generate_key
from .policy import StateSealer as StateSealer
