"""Verbs about saved cases: show, adopt, export, shrink, import."""
