"""Metamorphic relations: what a merge must answer to a changed case, by its own answer to the case (part 9.4)."""
