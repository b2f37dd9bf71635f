"""Drawn statements as values, and their SQL text."""
