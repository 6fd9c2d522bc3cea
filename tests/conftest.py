"""Examples are judged by what they do, not by how long a busy machine takes for them."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
