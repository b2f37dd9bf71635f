"""Concurrent writers on one table: every interleaving of small scenarios, and random races of processes."""
