"""Statements with a deliberate fault, which must be rejected."""
