"""What the hypercorn processes of the tests serve."""

from hypercorn.typing import ASGIFramework

from antiphon.transports.asgi import http_app
from tests.http_server.scripted import ScriptedServer

app: ASGIFramework = http_app(ScriptedServer(name="served", ephemeral_keys=True))
