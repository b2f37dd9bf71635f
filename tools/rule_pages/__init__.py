"""Writes docs/specification."""
