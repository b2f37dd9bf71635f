"""The passes of the shrinker."""
