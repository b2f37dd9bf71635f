"""Which cases may run without being trusted: those that can touch and read nothing but their own tables."""
