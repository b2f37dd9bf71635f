"""Findings: where they are kept, and when two are the same."""
