"""Optimisations that Delta Lake does not have; each has a setting that turns it off."""
