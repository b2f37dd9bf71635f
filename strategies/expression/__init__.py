"""Strategies for conditions and values."""
