"""Shrinking a failing case."""
