"""Delta Lake's MERGE benchmark, rebuilt: its sixteen cases and what it lacks, on several engines in turn."""
