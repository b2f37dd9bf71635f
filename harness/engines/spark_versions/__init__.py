"""Engines on another Spark than the installed one: a child process and an environment for each version of Spark."""
