"""The values that all rooms share: a case, the types of its columns, and what a merge of it came to."""
