"""Axes along which a case may be varied without changing its outcome, and the values of each axis."""
