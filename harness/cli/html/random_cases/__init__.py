"""The page of random cases: one run, and the trend over several."""
