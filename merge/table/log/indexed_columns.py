"""Which leaf columns of a table have statistics; plain data that travels to Spark's workers."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_NUMBER = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedColumns:
    """The leaf columns that a table's properties ask to have statistics.

    Attributes:
        number: so many leaves from the left; all if it is negative.
        names: the columns and fields whose leaves have statistics, by their paths, whatever the number; None for no
            list. Case does not matter.
    """

    number: int = DEFAULT_NUMBER
    names: tuple[tuple[str, ...], ...] | None = None

    def holds(self, position: int, path: tuple[str, ...]) -> bool:
        """Return whether a leaf has statistics, by its position among all leaves and its path."""
        if self.names is None:
            return self.number < 0 or position < self.number
        folded = tuple(name.lower() for name in path)
        return any(folded[: len(name)] == tuple(part.lower() for part in name) for name in self.names)
