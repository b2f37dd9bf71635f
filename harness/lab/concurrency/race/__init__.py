"""Random races: writers in processes of their own, some of which are killed."""
