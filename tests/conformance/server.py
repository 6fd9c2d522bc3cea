"""The server that the conformance suite tests.

``hypercorn -k trio tests.conformance.server:app`` serves it by hand.
"""

from antiphon import Server, http_app
from tests.conformance.asking_parameters import add_asking_parameters
from tests.conformance.asking_tools import add_asking_tools
from tests.conformance.beyond import add_beyond
from tests.conformance.plain_tools import add_plain_tools
from tests.conformance.prompts import add_prompts
from tests.conformance.resources import add_resources

server = Server("antiphon-conformance", version="1.0", list_scope="public")
add_plain_tools(server)
add_asking_tools(server)
add_asking_parameters(server)
add_prompts(server)
add_resources(server)
add_beyond(server)
app = http_app(server)
