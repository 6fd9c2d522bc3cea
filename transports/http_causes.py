"""Why a connection over HTTP did not come about or broke, in the words of whoever knows."""

from __future__ import annotations

import os
import socket
import ssl
from typing import cast

import httpx2


def cause_of(error: httpx2.HTTPError, connect_timeout: float) -> str:
    """What happened, in one sentence; empty where nobody says.

    Args:
        error: what httpx2 raised.
        connect_timeout: seconds that a connection, and its TLS handshake, were given.
    """
    if isinstance(error, httpx2.ConnectTimeout):
        return f"It did not come about within connect_timeout, {connect_timeout:g} s"
    return _in_words(_root_of(error))


def _root_of(error: BaseException) -> BaseException:
    """What the operating system raised, beneath the layers that passed it on."""
    below: object = error.__cause__ or (error.args[0] if error.args else None)
    if isinstance(below, ExceptionGroup):
        # One error for each address of the host; they are mostly alike.
        below = cast("ExceptionGroup[Exception]", below).exceptions[0]
    return _root_of(below) if isinstance(below, Exception) else error


def _in_words(error: BaseException) -> str:
    # Without numbers, and without the address: the error that quotes this has named it.
    match error:
        case ssl.SSLCertVerificationError():
            return f"Its certificate is not valid: {error.verify_message}"
        case ssl.SSLError(reason=str(reason)):
            return f"TLS failed: {reason.replace('_', ' ').lower()}"
        case socket.gaierror(strerror=str(words)):
            return words
        case OSError(errno=int(number)):
            return os.strerror(number)
        case _:
            return str(error)
