"""Processes and time: children, interrupts, limits, and where an engine of the user is searched."""
