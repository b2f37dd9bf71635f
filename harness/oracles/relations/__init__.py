"""Metamorphic relations between two answers of one engine."""
