"""The command line: one verb per task, with documented exit codes and JSON output."""

from mergecheck.harness.cli.supervisor import main

__all__ = ["main"]
