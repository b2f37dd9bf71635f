"""What a run reached: rules, the case space, statistics."""
