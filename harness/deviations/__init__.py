"""Known deviations of engines: the registry, and what each entry explains."""
