"""The mutation score of the harness: faults planted in ``merge``, and how many random cases it takes to find each."""
