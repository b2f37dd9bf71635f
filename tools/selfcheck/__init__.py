"""The mutation score of the harness: mutants of ``merge``, and how many random cases it takes to find each."""
