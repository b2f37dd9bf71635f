"""Verbs about a project that uses mergecheck: its configuration and its CI."""
