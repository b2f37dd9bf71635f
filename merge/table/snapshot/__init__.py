"""A table at one version: what the Delta log says of it, read once and passed on."""
