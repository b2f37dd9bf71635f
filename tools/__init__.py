"""What only the maintainers run; it is not in the wheel."""
