"""Engines: the adapters, the sessions of Spark that some need, and how an engine is found by its name."""
