"""Engines on another Spark than the installed one: a child process and a virtual environment for each line of Spark."""
