"""A corpus of cases with derived results, for engines in other languages."""
