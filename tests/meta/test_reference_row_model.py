"""A second oracle for the reference: a row-by-row model in plain Python, with three-valued logic, on a small domain.

It shares nothing with the reference: expressions are pairs of SQL text and a Python function, tables are lists.
"""

# ruff: noqa: ARG005 - every expression takes both rows, whichever it looks at

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.outcome import Bound, Prediction, Rejection
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = MergeReference()


SCHEMA = parse_schema("k INT, v INT")
Pair = tuple[int | None, int | None]
Truth = bool | None


def eq(a: int | None, b: int | None) -> Truth:
    return None if a is None or b is None else a == b


def lt(a: int | None, b: int | None) -> Truth:
    return None if a is None or b is None else a < b


def both(a: Truth, b: Truth) -> Truth:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


# Each: SQL text, and its truth for (target row, source row); a side that is not in scope is never looked at.
ON: list[tuple[str, Callable[[Any, Any], Truth]]] = [
    ("t.k = s.k", lambda t, s: eq(t[0], s[0])),
    ("t.k <=> s.k", lambda t, s: t[0] == s[0]),
    ("t.k = s.k AND t.v < s.v", lambda t, s: both(eq(t[0], s[0]), lt(t[1], s[1]))),
    ("t.k < s.k", lambda t, s: lt(t[0], s[0])),
    ("t.k = s.k AND t.v = 1", lambda t, s: both(eq(t[0], s[0]), eq(t[1], 1))),
    ("s.v IS NULL", lambda t, s: s[1] is None),
    ("FALSE", lambda t, s: False),
    ("CAST(NULL AS BOOLEAN)", lambda t, s: None),
]
MATCHED: list[tuple[str | None, Callable[[Any, Any], Truth]]] = [
    (None, lambda t, s: True),
    ("TRUE", lambda t, s: True),
    ("t.v = s.v", lambda t, s: eq(t[1], s[1])),
    ("s.v < 2", lambda t, s: lt(s[1], 2)),
    ("t.k = 1", lambda t, s: eq(t[0], 1)),
    ("t.v IS NULL", lambda t, s: t[1] is None),
    ("CAST(NULL AS BOOLEAN)", lambda t, s: None),
]
SOURCE_ONLY: list[tuple[str | None, Callable[[Any, Any], Truth]]] = [
    (None, lambda t, s: True),
    ("s.v < 2", lambda t, s: lt(s[1], 2)),
    ("s.k IS NOT NULL", lambda t, s: s[0] is not None),
]
TARGET_ONLY: list[tuple[str | None, Callable[[Any, Any], Truth]]] = [
    (None, lambda t, s: True),
    ("t.v < 2", lambda t, s: lt(t[1], 2)),
    ("t.k = 0", lambda t, s: eq(t[0], 0)),
]
UPDATES: list[tuple[str, Callable[[Any, Any], Pair]]] = [
    ("UPDATE SET v = s.v", lambda t, s: (t[0], s[1])),
    ("UPDATE SET k = t.v, v = t.k", lambda t, s: (t[1], t[0])),
    ("UPDATE SET v = t.v", lambda t, s: t),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelClause:
    kind: str
    condition: str | None
    holds: Callable[[Any, Any], Truth]
    action: str
    new: Callable[[Any, Any], Pair] | None  # None deletes

    def sql(self) -> str:
        condition = f" AND {self.condition}" if self.condition else ""
        return f"WHEN {self.kind}{condition} THEN {self.action}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    files: tuple[tuple[Pair, ...], ...]
    source: tuple[Pair, ...]
    on: tuple[str, Callable[[Any, Any], Truth]]
    clauses: tuple[ModelClause, ...]


@st.composite
def clauses(draw: st.DrawFn, kind: str, conditions: list[Any], actions: list[Any]) -> tuple[ModelClause, ...]:
    drawn = []
    for last in [False] * draw(st.integers(0, 2)) + [True] * draw(st.integers(0, 1)):
        condition, holds = draw(st.sampled_from([c for c in conditions if last or c[0] is not None]))
        action, new = draw(st.sampled_from(actions))
        drawn.append(ModelClause(kind=kind, condition=condition, holds=holds, action=action, new=new))
    return tuple(drawn)


@st.composite
def merges(draw: st.DrawFn) -> Drawn:
    row = st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(0, 3))
    delete = ("DELETE", None)
    own = [("UPDATE SET v = t.k", lambda t, s: (t[0], t[0])), delete]
    inserts = [("INSERT *", lambda t, s: s), ("INSERT (v) VALUES (s.k)", lambda t, s: (None, s[0]))]
    files = draw(st.lists(st.lists(row, min_size=1, max_size=3).map(tuple), max_size=3))
    drawn = (
        draw(clauses("MATCHED", MATCHED, [*UPDATES, delete]))
        + draw(clauses("NOT MATCHED", SOURCE_ONLY, inserts))
        + draw(clauses("NOT MATCHED BY SOURCE", TARGET_ONLY, own))
    )
    if not drawn:
        drawn = (ModelClause(kind="MATCHED", condition=None, holds=lambda t, s: True, action="DELETE", new=None),)
    unique = draw(st.booleans())
    source = draw(st.lists(row, max_size=4, unique_by=(lambda r: r[0]) if unique else None))
    return Drawn(files=tuple(files), source=tuple(source), on=draw(st.sampled_from(ON)), clauses=drawn)


@dataclass(slots=True)
class Modelled:
    """What the model says of a merge; ``ambiguous`` alone where it must fail."""

    ambiguous: bool
    rows: Counter[Pair]
    changes: Counter[tuple[Any, ...]]
    counts: Counter[str]


def model(drawn: Drawn) -> Modelled:
    """Walk the rows as part 3 of the specification says."""
    target = [(file, row) for file, rows in enumerate(drawn.files) for row in rows]
    holds = drawn.on[1]
    matches = {i: [s for s in drawn.source if holds(t, s) is True] for i, (_, t) in enumerate(target)}
    of = {kind: [c for c in drawn.clauses if c.kind == kind] for kind in (m, i_, n)}
    insert_only = bool(of[i_]) and not of[m] and not of[n]
    sole_delete = [(c.condition, c.new) for c in of[m]] == [(None, None)]
    result = Modelled(ambiguous=False, rows=Counter(), changes=Counter(), counts=Counter())
    if any(len(found) > 1 for found in matches.values()) and not insert_only and not sole_delete:
        result.ambiguous = True
        return result
    touched: set[int] = set()
    for i, (file, t) in enumerate(target):
        _target_row(t, matches[i], of[m] if matches[i] else of[n], result, "Matched" if matches[i] else "BySource")
        fires = any(c.holds(t, s) is True for s in matches[i] for c in of[m])
        if of[n] or (matches[i] and (of[i_] or fires)):
            touched.add(file)
    for s in drawn.source:
        if not any(holds(t, s) is True for _, t in target):
            clause = next((c for c in of[i_] if c.holds(None, s) is True), None)
            if clause is not None and clause.new is not None:
                row = clause.new(None, s)
                result.rows[row] += 1
                result.changes[*row, "insert"] += 1
                result.counts["inserted"] += 1
    if not insert_only:
        changed = sum(n for name, n in result.counts.items() if name != "inserted")
        result.counts["removed"] = len(touched)
        result.counts["copied"] = sum(len(drawn.files[file]) for file in touched) - changed if touched else 0
    return result


m, i_, n = "MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"


def _target_row(t: Pair, found: list[Pair], clauses: list[ModelClause], result: Modelled, part: str) -> None:
    s = found[0] if found else None
    clause = next((c for c in clauses if c.holds(t, s) is True), None)
    if clause is None:
        result.rows[t] += 1
    elif clause.new is None:
        result.changes[*t, "delete"] += 1
        result.counts[f"deleted{part}"] += 1
    else:
        row = clause.new(t, s)
        result.rows[row] += 1
        result.changes[*t, "update_preimage"] += 1
        result.changes[*row, "update_postimage"] += 1
        result.counts[f"updated{part}"] += 1


METRICS = {
    "inserted": "numTargetRowsInserted",
    "updatedMatched": "numTargetRowsMatchedUpdated",
    "updatedBySource": "numTargetRowsNotMatchedBySourceUpdated",
    "deletedMatched": "numTargetRowsMatchedDeleted",
    "deletedBySource": "numTargetRowsNotMatchedBySourceDeleted",
    "copied": "numTargetRowsCopied",
    "removed": "numTargetFilesRemoved",
}


@pytest.mark.parametrize("part", range(4))
@settings(max_examples=150)
@given(data=st.data())
def test_reference_agrees_with_the_row_model(part: int, data: st.DataObject) -> None:
    """Rows, change rows, exact metrics and ambiguity of the reference are those of the model."""
    drawn = data.draw(merges())
    case = Case(
        id=f"model-{part}",
        target=Target(schema=SCHEMA, files=drawn.files, properties={CDF_PROPERTY: "true"}),
        source=Source(schema=SCHEMA, rows=drawn.source),
        sql=f"MERGE INTO target t USING source s ON {drawn.on[0]} {' '.join(c.sql() for c in drawn.clauses)}",
    )
    wanted = model(drawn)
    reference = REFERENCE.evaluate(case)

    if wanted.ambiguous:
        assert isinstance(reference.answer, Rejection), case.sql
        assert reference.answer.error_class == "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
        return
    answer = reference.answer
    assert isinstance(answer, Prediction), (case.sql, answer)
    assert wanted.rows == Counter(answer.rows)
    assert answer.cdf is not None
    assert wanted.changes == Counter(answer.cdf)
    for count, metric in METRICS.items():
        assert Bound(wanted.counts[count], wanted.counts[count]) == answer.metrics[metric], (metric, case.sql)
