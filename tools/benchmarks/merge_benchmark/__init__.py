"""Delta Lake's MERGE benchmark, rebuilt: its sixteen cases and further ones, on several engines in turn."""
