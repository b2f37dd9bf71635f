"""The text of a MERGE statement and its values."""
