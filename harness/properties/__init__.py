"""Properties of cases and runs: rules, the case space, statistics."""
