"""What files are skipped by: the comparisons with constants that a merge takes from its conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from mergecheck.harness.delta.tables.widened_columns import earlier_rows
from mergecheck.harness.deviations.bug_models.row_sides import without
from mergecheck.harness.deviations.bug_models.statements import constant_of
from mergecheck.harness.deviations.bug_models.unread.leaves import TableNames, leaves
from mergecheck.model.layout import has_vector, physical_rows
from mergecheck.model.outcome import Outcome
from mergecheck.model.storage import Vectors
from mergecheck.reference.syntax.query_tree import conjuncts
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from decimal import Decimal

    from mergecheck.harness.deviations.bug_models.judged import Judged
    from mergecheck.harness.deviations.bug_models.unread.leaves import Leaf
    from mergecheck.model.storage import TargetLayout
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.syntax.statement import Statement

_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.NullSafeEQ: exp.EQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition on one column or field: ``operator`` stands between it and the constant, in this order."""

    leaf: Leaf
    operator: type[exp.Expr]
    constant: Decimal

    def excludes(self, low: Any, high: Any, constant: Any) -> bool:  # noqa: ANN401 - values in whatever order
        """Return whether no value from ``low`` to ``high`` fulfils the comparison with a constant."""
        excluded: dict[type[exp.Expr], bool] = {
            exp.EQ: not low <= constant <= high,
            exp.LT: low >= constant,
            exp.LTE: low > constant,
            exp.GT: high <= constant,
            exp.GTE: high < constant,
        }
        return excluded[self.operator]


def comparisons(conditions: Iterable[exp.Expr], statement: Statement, schema: Schema) -> Iterator[Comparison]:
    """Give the conjuncts of conditions that compare a column of the table with a constant number."""
    names = TableNames(statement.target_alias or statement.target, leaves(schema))
    for conjunct in (part for condition in conditions for part in conjuncts(condition)):
        operator = _MIRRORED.get(type(conjunct))
        if operator is None:
            continue
        leaf, constant = names.leaf(conjunct.this.unnest()), constant_of(conjunct.expression)
        if leaf is not None:
            operator = _MIRRORED[operator]
        else:
            leaf, constant = names.leaf(conjunct.expression.unnest()), constant_of(conjunct.this)
        if leaf is not None and constant is not None:
            yield Comparison(leaf, operator, constant)


def conditions(statement: Statement, *kinds: Kind) -> Iterator[exp.Expr]:
    """Return conditions for a row to be found or changed: ON, and any clause condition if all are of a kind.

    Args:
        statement: the merge.
        kinds: the kinds of clauses whose conditions count.
    """
    if not statement.of(Kind.NOT_MATCHED_BY_SOURCE):
        yield statement.on
    for kind in kinds:
        clauses = statement.of(kind)
        each = [clause.condition for clause in clauses if clause.condition is not None]
        if len(clauses) == len(statement.clauses) == len(each):
            yield exp.or_(*each, wrap=True) if len(each) > 1 else each[0]


def rows_of_files(now: Judged) -> dict[int, list[int]]:
    """Number the rows of each file of the table."""
    files: dict[int, list[int]] = {}
    for rid, number in enumerate(now.reference.trace.files):
        files.setdefault(number, []).append(rid)
    return files


def row_groups(rids: Sequence[int], number: int, layout: TargetLayout) -> Iterable[list[int]]:
    """Give the rows of each row group of a file, by its rows and its number."""
    # beside each live row there is a deleted one, if the file has a vector
    places = range(1, 2 * len(rids), 2) if has_vector(layout, number) else range(len(rids))
    groups: dict[int, list[int]] = {}
    for place, rid in zip(places, rids, strict=True):
        groups.setdefault(place // layout.row_group_rows if layout.row_group_rows else 0, []).append(rid)
    return groups.values()


def without_rows(now: Judged, unread: Collection[int]) -> Judged | None:
    """Take the merge to be one into a table without some rows, which are still there."""
    found, target, rows = now.result, now.case.target, physical_rows(now.case.target)
    if not unread or not isinstance(found, Outcome):
        return None
    more = (None,) * (len(found.schema.columns) - len(target.schema.columns))
    gone = [(*rows[rid], *more) for rid in unread]
    left = without(found.rows, gone, found.schema)
    if left is None:
        return None
    kept = {number: [rows[rid] for rid in rids if rid not in unread] for number, rids in rows_of_files(now).items()}
    files = {number: tuple(file) for number, file in kept.items() if file}
    layout = target.layout
    if layout.vectors is not Vectors.NONE:
        marked = tuple(place for place, number in enumerate(files) if has_vector(layout, number))
        layout = replace(layout, files_with_vectors=marked)
    case = replace(now.case, target=replace(target, files=tuple(files.values()), layout=layout))
    return replace(now, result=replace(found, rows=left)).with_case(case)


def old_files(now: Judged) -> Iterator[tuple[int, list[int]]]:
    """Give the files that hold the earlier types of columns, as the harness writes them, with their rows."""
    target, rows = now.given.target, physical_rows(now.given.target)
    for number, rids in rows_of_files(now).items():
        stored = [rows[rid] for rid in rids]
        if number % 2 == 0 and earlier_rows(target.schema, stored, target.layout.widened_columns) is not None:
            yield number, rids
