"""What the hypercorn process of the tests serves."""

from hypercorn.typing import ASGIFramework

from antiphon import http_app
from tests.older_server.asking import make

app: ASGIFramework = http_app(make())
