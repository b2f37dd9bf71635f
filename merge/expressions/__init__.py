"""Expressions of a statement bound to the columns of both tables."""
