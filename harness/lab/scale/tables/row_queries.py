"""The rows of the generated tables, as DuckDB expressions over a row number: all chance is a hash of it and a seed."""

from __future__ import annotations

from dataclasses import dataclass

from mergecheck.harness.lab.scale.tables.shapes import Shape, Trait

PARTITIONS = 8
_SECOND_COPY = 50
"""Added to the numbers of the draws of the source, so that its cells differ from the target's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Writes the queries of one pair of tables.

    Attributes:
        rows_per_file: of the target; the last file may have fewer.
    """

    seed: int
    shape: Shape
    rows_per_file: int

    def target(self, first: int, end: int) -> str:
        """Select the target rows ``first`` to ``end`` (exclusive)."""
        numbers = f"SELECT {self._original('i')} AS r FROM range({first}, {end}) numbers(i)"
        return f"SELECT {self._key('r')} AS k, {self._part('r')} AS part, {self._values(0)} FROM ({numbers})"

    def source(self, first: int, end: int) -> str:
        """Select the source rows for the target rows ``first`` to ``end``: those that match, and new ones."""
        matched, fresh = self.shape.matched, self.shape.fresh
        candidates = f"SELECT i AS r FROM range({first}, {end}) numbers(i)"
        match = f"{self._draw(1)} % 1000 < {matched} AND {self._original('r')} = r AND {self._is_alone('r')}"
        copies = ""
        if Trait.AMBIGUOUS in self.shape.traits:
            copies = f", range(CASE WHEN {self._draw(2)} % 1000 = 0 THEN 2 ELSE 1 END)"
        once = "SELECT CAST(0 AS BIGINT) AS k, CAST(0 AS BIGINT) AS r"
        parts = [
            f"SELECT {self._key('r')} AS k, r FROM ({candidates}){copies} WHERE {match}",
            f"SELECT 2 * r + 1 AS k, r FROM ({candidates}) WHERE {self._draw(3)} % 1000 < {fresh}",
        ]
        if Trait.HOT_KEY in self.shape.traits and first == 0:
            parts.append(once)
        if Trait.AMBIGUOUS in self.shape.traits and first == 0:
            parts += [once, once]  # however small the tables are
        if Trait.NULL_KEYS in self.shape.traits:
            parts.append(f"SELECT CAST(NULL AS BIGINT) AS k, r FROM ({candidates}) WHERE {self._draw(4)} % 1000 < 20")
        moved = f"CASE WHEN {self._draw(5)} % 10 = 0 THEN CAST({self._draw(6)} % {PARTITIONS} AS INTEGER)"
        part = f"{moved} ELSE {self._part('r')} END"
        return f"SELECT k, {part} AS part, {self._values(_SECOND_COPY)} FROM ({' UNION ALL '.join(parts)})"

    def partition(self, file: int) -> int:
        """Give the one value of ``part`` in a file of a partitioned target."""
        return file % PARTITIONS

    def _draw(self, number: int, row: str = "r") -> str:
        return f"hash({row}, {self.seed}, {number})"

    def _original(self, row: str) -> str:
        """Number the row that a row is a copy of: itself, mostly."""
        if Trait.DUPLICATES not in self.shape.traits:
            return row
        return f"CASE WHEN ({row} // 2) % 5 = 0 THEN {row} - {row} % 2 ELSE {row} END"

    def _key(self, row: str) -> str:
        """Target keys are even and ascend, so that files hold ranges of keys."""
        if Trait.HOT_KEY in self.shape.traits:
            return f"CASE WHEN {self._is_alone(row)} THEN 2 * {row} ELSE 0 END"
        if Trait.NULL_KEYS in self.shape.traits:
            return f"CASE WHEN {self._draw(8, row)} % 50 = 0 THEN NULL ELSE 2 * {row} END"
        return f"2 * {row}"

    def _is_alone(self, row: str) -> str:
        """Return whether a row has a key of its own, so that a source row with it is the only one."""
        if Trait.HOT_KEY in self.shape.traits:
            return f"({row} > 0 AND {self._draw(9, row)} % 5 <> 0)"
        return "TRUE"

    def _part(self, row: str) -> str:
        if Trait.PARTITIONED in self.shape.traits:
            return f"CAST(({row} // {self.rows_per_file}) % {PARTITIONS} AS INTEGER)"
        return f"CAST({self._draw(10, row)} % {PARTITIONS} AS INTEGER)"

    def _values(self, salt: int) -> str:
        """Write the other columns: NULL, empty texts, NaN, infinity and both zeros are among them."""

        def draw(number: int) -> str:
            return self._draw(salt + number)

        qty = f"CASE WHEN {draw(11)} % 50 = 0 THEN NULL ELSE CAST({draw(12)} % 1000 AS INTEGER) END"
        cents = f"CAST(CAST({draw(13)} % 100000000 AS BIGINT) - 20000000 AS DOUBLE)"
        price = f"CASE WHEN {draw(14)} % 40 = 0 THEN NULL ELSE CAST({cents} / 100 AS DECIMAL(12,2)) END"
        rate = (
            f"CASE {draw(15)} % 60 WHEN 0 THEN NULL WHEN 1 THEN CAST('NaN' AS DOUBLE) "
            f"WHEN 2 THEN CAST('-0.0' AS DOUBLE) WHEN 3 THEN CAST(0 AS DOUBLE) WHEN 4 THEN CAST('-Infinity' AS DOUBLE) "
            f"ELSE CAST(CAST({draw(16)} % 4000 AS BIGINT) - 1000 AS DOUBLE) / 8 END"
        )
        name = f"CASE {draw(17)} % 25 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'n' || ({draw(18)} % 100000) END"
        day = f"DATE '2020-01-01' + CAST({draw(19)} % 2000 AS INTEGER)"
        return f"{qty} AS qty, {price} AS price, {rate} AS rate, {name} AS name, {day} AS day"
