"""Released versions that are known to be wrong, fuzzed again."""
