"""One case explained, and how one case is chosen."""
