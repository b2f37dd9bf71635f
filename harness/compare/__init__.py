"""Exact comparison of an engine's answer with the reference's."""
