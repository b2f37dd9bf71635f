"""Reports of a case for people and programs."""
