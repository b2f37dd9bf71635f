"""The command line: one verb per task, with documented exit codes and JSON output."""

from mergecheck.harness.cli.main import main

__all__ = ["main"]
