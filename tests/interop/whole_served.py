"""The whole server as an ASGI application, for the hypercorn command."""

from hypercorn.typing import ASGIFramework

from antiphon import http_app
from tests.interop.whole import make

app: ASGIFramework = http_app(make())
