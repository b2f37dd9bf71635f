"""Strategies for session settings, engine settings and table properties."""
