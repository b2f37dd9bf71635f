"""Probes which cases an engine refuses, and keeps the result as a file."""
