"""Columns that CHECK constraints and generated columns depend on keep their types, and so do the latter (R-240)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.expressions.binding import bind
from mergecheck.merge.expressions.clock import StatementClock
from mergecheck.merge.expressions.resolved import target_column
from mergecheck.merge.expressions.scope import Relation, Scope, Side
from mergecheck.merge.table.writing.checks import CONSTRAINT_PREFIX, GENERATION_EXPRESSION
from mergecheck.merge.types.fields import same_type, type_sql
from mergecheck.merge.types.invariants import INVARIANT, expression_of
from mergecheck.merge.types.text_limits import AS_STORED
from mergecheck.merge.types.widening import changes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from pyspark.sql.types import StructType

    from mergecheck.merge.table.snapshot.snapshot import Snapshot

    Path = tuple[str, ...]


def check_dependents(snapshot: Snapshot, schema: StructType, *, case_sensitive: bool) -> None:
    """Refuse another type for a column or field that an expression of the table uses.

    Args:
        snapshot: the table before the merge.
        schema: its columns after it.
        case_sensitive: the session's rule for names.

    Raises:
        AnalysisError: ``DELTA_CONSTRAINT_DATA_TYPE_MISMATCH`` or ``DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH``.
    """
    constraints = {name: text for name, text in snapshot.properties.items() if name.startswith(CONSTRAINT_PREFIX)}
    generated = {
        field.name: field.metadata[GENERATION_EXPRESSION]
        for field in snapshot.schema.fields
        if GENERATION_EXPRESSION in (field.metadata or {})
    }
    for path, old, new in changes(snapshot.schema, schema):
        for error_class, what, texts in (
            ("DELTA_CONSTRAINT_DATA_TYPE_MISMATCH", "CHECK constraint", constraints),
            ("DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH", "generated column", generated),
        ):
            for name in _depending(texts, path, snapshot.schema, case_sensitive=case_sensitive):
                raise AnalysisError(
                    error_class,
                    f"Column {'.'.join(path)} has type {type_sql(old)} and cannot become {type_sql(new)}, because the "
                    f"{what} {name.removeprefix(CONSTRAINT_PREFIX)} uses it. Cast the column in the source.",
                )


def check_generated(snapshot: Snapshot, schema: StructType) -> None:
    """Refuse another type for a generated column: its expression gives the type that it had.

    Raises:
        AnalysisError: ``DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH``.
    """
    for old, new in zip(snapshot.schema.fields, schema.fields, strict=False):
        if GENERATION_EXPRESSION in (old.metadata or {}) and not same_type(old.dataType, new.dataType):
            raise AnalysisError(
                "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH",
                f"The generated column {old.name} has the type of its expression, {type_sql(old.dataType)}, and cannot "
                f"become {type_sql(new.dataType)}. Cast the column in the source.",
            )


def check_unpadded(snapshot: Snapshot, positions: Collection[int], *, case_sensitive: bool) -> None:
    """Refuse expressions of the table over CHAR columns that Spark pads where it reads them (R-822).

    Args:
        snapshot: the table before the merge.
        positions: the columns' positions.
        case_sensitive: the session's rule for names.

    Raises:
        UnsupportedStatementError: there is such an expression.
    """
    fields = [snapshot.schema.fields[position] for position in positions]
    texts = {name: text for name, text in snapshot.properties.items() if name.startswith(CONSTRAINT_PREFIX)}
    for field in snapshot.schema.fields:
        metadata = field.metadata or {}
        if GENERATION_EXPRESSION in metadata:
            texts[field.name] = metadata[GENERATION_EXPRESSION]
        if INVARIANT in metadata:
            texts[f"the invariant of {field.name}"] = expression_of(metadata[INVARIANT])
    for padded in fields:
        for name in _depending(texts, (padded.name,), snapshot.schema, case_sensitive=case_sensitive):
            raise UnsupportedStatementError(
                f"an expression over the CHAR column {padded.name}: {name.removeprefix(CONSTRAINT_PREFIX)}",
                hint=AS_STORED,
            )


def _depending(texts: Mapping[str, str], path: Path, schema: StructType, *, case_sensitive: bool) -> Iterator[str]:
    """Name the expressions that use a column or field, something in it, or the whole that it belongs to."""

    def fold(name: str) -> str:
        return name if case_sensitive else name.lower()

    for name, text in texts.items():
        for used in _used(text, schema, case_sensitive=case_sensitive):
            if all(fold(one) == fold(other) for one, other in zip(used, path, strict=False)):
                yield name


def _used(text: str, schema: StructType, *, case_sensitive: bool) -> Iterator[Path]:
    """List the columns and fields that an expression over the table's columns names."""
    scope = Scope(relations=(Relation(side=Side.TARGET, qualifier=(), schema=schema),), case_sensitive=case_sensitive)
    names = {target_column(index): name for index, name in enumerate(schema.names)}
    bound = bind(text, scope, where="column expression", clock=StatementClock.start())
    for column in bound.tree.find_all(exp.Column):
        if column.name in names:
            yield (names[column.name], *_fields_behind(column))


def _fields_behind(column: exp.Column) -> Iterator[str]:
    node: exp.Expr = column
    while isinstance(node.parent, exp.Dot) and node.parent.this is node:
        node = node.parent
        yield node.expression.name
