"""Maintainers' commands; they are not in the wheel."""
