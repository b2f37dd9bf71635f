"""Which files may hold a row that satisfies a predicate over target columns (R-420, R-421, R-413).

The predicate is evaluated over sets of truth values. The set of a node contains each value that the node has on some
row of a file, as far as the bounds of the file show; a node that is not understood has all three. So a file that is
skipped contains no row for which the predicate is TRUE.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from mergecheck.merge.expressions.resolved import target_column
from mergecheck.merge.table.reading.bounds import ColumnBounds, column_bounds
from mergecheck.merge.table.reading.literals import NullLiteral, literal_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import types as t

    from mergecheck.merge.table.reading.bounds import Comparable
    from mergecheck.merge.table.snapshot.data_files import DataFile
    from mergecheck.merge.table.snapshot.snapshot import Snapshot


class Truth(IntEnum):
    """SQL's three truth values: AND is the least, OR the greatest of several, and NOT the negative of one."""

    FALSE = -1
    NULL = 0
    TRUE = 1


TARGET_PREFIX = target_column(0).removesuffix("0")

Truths = frozenset[Truth]
ANY: Truths = frozenset(Truth)
_ONLY = {truth: frozenset({truth}) for truth in Truth}


def target_only_conjuncts(condition: exp.Expr) -> tuple[exp.Expr, ...]:
    """Split a condition at its top-level ANDs and keep the parts that refer to no source column (R-420)."""
    return tuple(part for part in conjuncts(condition) if _is_target_only(part))


def conjuncts(node: exp.Expr) -> Iterable[exp.Expr]:
    """Split a condition at its top-level ANDs."""
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from conjuncts(node.left)
        yield from conjuncts(node.right)
    else:
        yield node


def _is_target_only(node: exp.Expr) -> bool:
    # The first part is the positional name; a struct's field may be called anything.
    return all(column.parts[0].name.startswith(TARGET_PREFIX) for column in node.find_all(exp.Column))


def conjunction(parts: Sequence[exp.Expr]) -> exp.Expr:
    """Join predicates by AND; TRUE if there are none."""
    return exp.and_(*parts) if parts else exp.true()


def disjunction(parts: Sequence[exp.Expr]) -> exp.Expr:
    """Join predicates by OR; FALSE if there are none."""
    return exp.or_(*parts) if parts else exp.false()


def skip_files(snapshot: Snapshot, predicate: exp.Expr) -> tuple[DataFile, ...]:
    """Return the live files that may hold a row for which the predicate is TRUE."""
    return tuple(file for file in snapshot.files if file_may_match(snapshot, file, predicate))


def file_may_match(snapshot: Snapshot, file: DataFile, predicate: exp.Expr) -> bool:
    """Return whether a file may contain a row for which the predicate is TRUE."""
    return Truth.TRUE in _truths(snapshot, file, predicate)


def every_row_matches(snapshot: Snapshot, file: DataFile, predicate: exp.Expr) -> bool:
    """Return whether the predicate is TRUE for every row of a file that has any."""
    return _truths(snapshot, file, predicate) == {Truth.TRUE}


def _truths(snapshot: Snapshot, file: DataFile, predicate: exp.Expr) -> Truths:
    evaluator = _Evaluator(file=file, fields=_fields(snapshot), partition_columns=snapshot.partition_columns)
    return evaluator.truths(predicate)


def _fields(snapshot: Snapshot) -> dict[str, t.StructField]:
    return {target_column(i): f for i, f in enumerate(snapshot.schema.fields)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evaluator:
    file: DataFile
    fields: Mapping[str, t.StructField]
    partition_columns: tuple[str, ...]
    _seen: dict[str, ColumnBounds] = field(default_factory=dict)

    def truths(self, node: exp.Expr) -> Truths:
        node = node.unnest()
        if isinstance(node, exp.And | exp.Or):
            parts = [self.truths(node.left), self.truths(node.right)]
            return _combined(min if isinstance(node, exp.And) else max, parts)
        if isinstance(node, exp.Not):
            return frozenset(Truth(-value) for value in self.truths(node.this))
        if isinstance(node, exp.Boolean):
            return _ONLY[Truth.TRUE if node.this else Truth.FALSE]
        if isinstance(node.this if isinstance(node, exp.Cast) else node, exp.Null):
            return _ONLY[Truth.NULL]
        if isinstance(node, exp.Column):
            return self._compare(node, exp.true(), "=")
        return self._leaf(node)

    def _leaf(self, node: exp.Expr) -> Truths:
        if isinstance(node, exp.Binary) and type(node) in _COMPARISONS:
            operator = _COMPARISONS[type(node)]
            if isinstance(node.left.unnest(), exp.Column):
                return self._compare(node.left, node.right, operator)
            return self._compare(node.right, node.left, _MIRRORED[operator])
        if isinstance(node, exp.NullSafeEQ):
            return self._null_safe(node)
        if isinstance(node, exp.Is):
            return self._is(node)
        if isinstance(node, exp.In) and node.expressions:
            return _combined(max, [self._compare(node.this, value, "=") for value in node.expressions])
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            low = self._compare(node.this, node.args["low"], ">=")
            return _combined(min, [low, self._compare(node.this, node.args["high"], "<=")])
        return ANY

    def _bounds(self, node: exp.Expr) -> tuple[ColumnBounds, t.DataType] | None:
        column = node.unnest()
        if not isinstance(column, exp.Column) or column.table or column.name not in self.fields:
            return None
        name = column.name
        if name not in self._seen:
            column_field = self.fields[name]
            is_partition = column_field.name in self.partition_columns
            self._seen[name] = column_bounds(self.file, column_field, is_partition=is_partition)
        return self._seen[name], self.fields[name].dataType

    def _compared(self, column: exp.Expr, constant: exp.Expr) -> tuple[ColumnBounds, Comparable] | None:
        """Give the bounds of a column, and the value of a constant, which may be a ``NullLiteral``."""
        known = self._bounds(column)
        value = None if known is None else literal_for(constant, known[1])
        return None if known is None or value is None else (known[0], value)

    def _compare(self, column: exp.Expr, constant: exp.Expr, operator: str) -> Truths:
        match self._compared(column, constant):
            case None:
                return ANY
            case _, NullLiteral():
                return _ONLY[Truth.NULL]
            case bounds, value:
                return compare_truths(bounds, value, operator)

    def _null_safe(self, node: exp.NullSafeEQ) -> Truths:
        sides = (node.left, node.right) if isinstance(node.left.unnest(), exp.Column) else (node.right, node.left)
        match self._compared(*sides):
            case None:
                return ANY
            case bounds, NullLiteral():
                return _null_test(bounds)
            case bounds, value:
                equal = compare_truths(bounds, value, "=")
                return frozenset(Truth.FALSE if truth is Truth.NULL else truth for truth in equal)

    def _is(self, node: exp.Is) -> Truths:
        known = self._bounds(node.this)
        if isinstance(node.expression, exp.Null):
            return ANY if known is None else _null_test(known[0])
        if isinstance(node.expression, exp.Boolean):
            wanted = Truth.TRUE if node.expression.this else Truth.FALSE
            inner = self.truths(node.this)
            return frozenset(Truth.TRUE if value is wanted else Truth.FALSE for value in inner)
        return ANY


_COMPARISONS: Mapping[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare_truths(bounds: ColumnBounds, value: Comparable, operator: str) -> Truths:
    """Return the truth values that ``column operator value`` may take within the bounds; ``value`` is not NaN."""
    found = {Truth.NULL} if bounds.may_be_null else set()
    if bounds.may_be_value:
        satisfying, violating = _PLACES[operator]
        if any(may_lie(bounds, value) for may_lie in satisfying):
            found.add(Truth.TRUE)
        if any(may_lie(bounds, value) for may_lie in violating):
            found.add(Truth.FALSE)
    return frozenset(found)


def _below(bounds: ColumnBounds, value: Comparable) -> bool:
    return bounds.lower is None or bounds.lower < value


def _above(bounds: ColumnBounds, value: Comparable) -> bool:
    return bounds.may_be_nan or bounds.upper is None or bounds.upper > value  # NaN is above everything


def _within(bounds: ColumnBounds, value: Comparable) -> bool:
    return (bounds.lower is None or bounds.lower <= value) and (bounds.upper is None or bounds.upper >= value)


# Operator -> places of values that satisfy it, and of values that violate it: below, at or above the constant.
_Place = Callable[[ColumnBounds, Any], bool]
_PLACES: Mapping[str, tuple[tuple[_Place, ...], tuple[_Place, ...]]] = {
    "<": ((_below,), (_within, _above)),
    "<=": ((_below, _within), (_above,)),
    ">": ((_above,), (_below, _within)),
    ">=": ((_within, _above), (_below,)),
    "=": ((_within,), (_below, _above)),
    "<>": ((_below, _above), (_within,)),
}


def _null_test(bounds: ColumnBounds) -> Truths:
    found = {Truth.TRUE} if bounds.may_be_null else set()
    return frozenset(found | ({Truth.FALSE} if bounds.may_be_value else set()))


def _combined(combine: Callable[[tuple[Truth, Truth]], Truth], parts: Iterable[Truths]) -> Truths:
    """Combine every value of one part with every value of the others."""
    return functools.reduce(lambda left, right: frozenset(map(combine, itertools.product(left, right))), parts)
