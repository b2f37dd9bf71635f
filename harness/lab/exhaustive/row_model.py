"""The meaning of MERGE row by row, in plain Python: a second oracle, which imports nothing of this project."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]
Function: TypeAlias = Callable[[Row, Row], Any]
Clause: TypeAlias = tuple[Function, tuple[Function, ...] | None]
OPERATORS: Mapping[str, Callable[..., Any]] = {
    "=": lambda a, b: None if a is None or b is None else a == b,
    "<": lambda a, b: None if a is None or b is None else a < b,
    "+": lambda a, b: None if a is None or b is None else a + b,
    "<=>": lambda a, b: a == b,
    "is null": lambda a: a is None,
    "not": lambda a: None if a is None else not a,
    "and": lambda a, b: False if a is False or b is False else None if a is None or b is None else True,
    "or": lambda a, b: True if a is True or b is True else None if a is None or b is None else False,
}


def compiled(expression: object, names: Mapping[str, Sequence[str]]) -> Function:
    """Make a function of a row of ``t`` and a row of ``s`` from ``"t.k"``, a literal or ``("=", "t.k", "s.k")``."""
    if isinstance(expression, str):
        side, _, column = expression.partition(".")
        place = names[side].index(column)
        return lambda t, s: (t if side == "t" else s)[place]
    if not isinstance(expression, tuple):
        return lambda t, s: expression  # noqa: ARG005 - a literal looks at no row
    apply, parts = OPERATORS[expression[0]], [compiled(part, names) for part in expression[1:]]
    return lambda t, s: apply(*[part(t, s) for part in parts])


@dataclass(slots=True, kw_only=True)
class Merge:
    """ON, and the clauses of each kind: a condition, and the new values, or None for DELETE."""

    on: Function
    matched: Sequence[Clause]
    inserts: Sequence[Clause]
    by_source: Sequence[Clause]
    takes_several: bool  # whether a target row may have several matches


@dataclass(slots=True)
class Result:
    """The outcome of many small merges; rows and change rows end with the number of their pair of tables."""

    ambiguous: list[int] = field(default_factory=list)
    rows: Counter[Row] = field(default_factory=Counter)
    changes: Counter[Row] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    files: dict[object, tuple[int, int, bool]] = field(default_factory=dict)  # rows, changed rows, is it touched

    def add(self, merge: Merge, pair: int, target: Iterable[tuple[object, Row]], source: Sequence[Row]) -> None:
        """Merge a pair of tables; each target row comes with its file."""
        found = [(file, t, [s for s in source if merge.on(t, s) is True]) for file, t in target]
        if not merge.takes_several and any(len(matches) > 1 for _, _, matches in found):
            self.ambiguous.append(pair)
            return
        self.counts["source"] += len(source)
        for file, t, matches in found:
            fired = self._fire(merge.matched if matches else merge.by_source, (*t, pair), t, (*matches, ())[0])
            self.counts[f"{'matched' if matches else 'by source'} {fired}"] += 1
            touches = merge.by_source or (matches and (merge.inserts or fired != "copied"))
            size, changed, touched = self.files.get(file, (0, 0, False))
            self.files[file] = size + 1, changed + (fired != "copied"), touched or bool(touches)
        for s in [s for s in source if not any(s in matches for _, _, matches in found)]:
            self.counts[self._fire(merge.inserts, (pair,), (), s)] += 1

    def _fire(self, clauses: Sequence[Clause], old: Row, t: Row, s: Row) -> str:
        fires, new = next((c for c in clauses if c[0](t, s) is True), (None, ()))
        row = old if not new else (*[value(t, s) for value in new], old[-1])
        fired = "copied" if fires is None else "deleted" if new is None else "updated" if t else "inserted"
        images = {"deleted": [(*old, "delete")], "inserted": [(*row, "insert")]}
        images["updated"] = [(*old, "update_preimage"), (*row, "update_postimage")]
        self.changes.update(images.get(fired, []))
        self.rows.update([] if fired == "deleted" or not row[:-1] else [row])
        return fired
