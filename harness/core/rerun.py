"""The options that check a case again as it was checked, for a line that a person copies."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """What decides the verdict of a case beside the case itself.

    Attributes:
        engine: the name that starts the engine; empty if nobody gave one.
        options: other options by their names without dashes; a flag has the value "".
    """

    engine: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def flags(self, prefix: str = "--") -> str:
        """Write the options for a shell, each after a space.

        Args:
            prefix: what stands before each name; pytest's options begin with ``--mergecheck-``.
        """
        named = (("engine", self.engine),) if self.engine else ()
        return "".join(
            f" {prefix}{name} {shlex.quote(value)}" if value else f" {prefix}{name}"
            for name, value in (*named, *self.options)
        )
