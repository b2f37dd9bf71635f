"""The catalogue of faults planted in the merge."""
