"""Comparing a whole answer of an engine with what must come out."""
