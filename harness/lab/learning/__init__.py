"""Finds out by trial what an engine refuses, and keeps it as a file."""
