"""The configuration, ``mergecheck.toml`` or a table of ``pyproject.toml``: data, of which nothing is run."""

from mergecheck.harness.configuration.configuration import Configuration, Setting, load_configuration

__all__ = ["Configuration", "Setting", "load_configuration"]
