"""Which files may hold a row that satisfies a predicate over target columns (R-420, R-421, R-413).

The predicate is evaluated over sets of truth values. The set of a node contains each value that the node has on some
row of a file, as far as the bounds of the file tell; a node that is not understood has all three. So a file that is
skipped contains no row for which the predicate is TRUE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from mergecheck.merge.expressions.resolved import target_column
from mergecheck.merge.table.reading.bounds import ColumnBounds, column_bounds
from mergecheck.merge.table.reading.literals import NullLiteral, literal_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import types as t

    from mergecheck.merge.table.log.snapshot import DataFile, Snapshot
    from mergecheck.merge.table.reading.bounds import Comparable


class Truth(Enum):
    """SQL's three truth values."""

    TRUE = "true"
    FALSE = "false"
    NULL = "null"


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
    """Tell whether a file may contain a row for which the predicate is TRUE."""
    evaluator = _Evaluator(file=file, fields=_fields(snapshot), partition_columns=snapshot.partition_columns)
    return Truth.TRUE in evaluator.truths(predicate)


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
            combine = and_truth if isinstance(node, exp.And) else or_truth
            left, right = self.truths(node.left), self.truths(node.right)
            return frozenset(combine(a, b) for a in left for b in right)
        if isinstance(node, exp.Not):
            return frozenset(not_truth(value) for value in self.truths(node.this))
        if isinstance(node, exp.Boolean):
            return _ONLY[Truth.TRUE if node.this else Truth.FALSE]
        if isinstance(node, exp.Null):
            return _ONLY[Truth.NULL]
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Null):
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
            return self._any_of([self._compare(node.this, value, "=") for value in node.expressions])
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            low = self._compare(node.this, node.args["low"], ">=")
            high = self._compare(node.this, node.args["high"], "<=")
            return frozenset(and_truth(a, b) for a in low for b in high)
        return ANY

    def _any_of(self, parts: list[Truths]) -> Truths:
        result = _ONLY[Truth.FALSE]
        for part in parts:
            result = frozenset(or_truth(a, b) for a in result for b in part)
        return result

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

    def _compare(self, column: exp.Expr, constant: exp.Expr, operator: str) -> Truths:
        known = self._bounds(column)
        if known is None:
            return ANY
        bounds, data_type = known
        value = literal_for(constant, data_type)
        if isinstance(value, NullLiteral):
            return _ONLY[Truth.NULL]
        if value is None:
            return ANY
        return compare_truths(bounds, value, operator)

    def _null_safe(self, node: exp.NullSafeEQ) -> Truths:
        column, constant = node.left, node.right
        if not isinstance(column.unnest(), exp.Column):
            column, constant = constant, column
        known = self._bounds(column)
        if known is None:
            return ANY
        bounds, data_type = known
        value = literal_for(constant, data_type)
        if isinstance(value, NullLiteral):
            return _null_test(bounds)
        if value is None:
            return ANY
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
    """Tell which truth values ``column operator value`` may take within the bounds; ``value`` is not NaN."""
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


def and_truth(left: Truth, right: Truth) -> Truth:
    """SQL's AND."""
    if Truth.FALSE in (left, right):
        return Truth.FALSE
    return Truth.NULL if Truth.NULL in (left, right) else Truth.TRUE


def or_truth(left: Truth, right: Truth) -> Truth:
    """SQL's OR."""
    if Truth.TRUE in (left, right):
        return Truth.TRUE
    return Truth.NULL if Truth.NULL in (left, right) else Truth.FALSE


def not_truth(value: Truth) -> Truth:
    """SQL's NOT."""
    return {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE, Truth.NULL: Truth.NULL}[value]
