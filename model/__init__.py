"""The values that all rooms share: a case, the types of its columns, and the outcome of a merge."""
