"""How many tables are drawn: 50 by default, five with ``--hypothesis-profile quick``."""

from hypothesis import settings

settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile("quick", max_examples=5, deadline=None, derandomize=True)
settings.load_profile("default")
