"""Verbs that take their options from the configuration where the command line does not give them."""
