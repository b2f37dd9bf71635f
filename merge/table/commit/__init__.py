"""Commits: actions, conflict detection, the new version."""
