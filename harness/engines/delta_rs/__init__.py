"""delta-rs, the installed or any released version."""
