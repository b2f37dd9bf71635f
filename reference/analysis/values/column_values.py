"""Values that a table computes for its columns: defaults and generated columns (R-220, R-222, R-223)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import BIGINT, TIMESTAMP, VOID
from mergecheck.model.types.typed import TableSide, Typed, typed_null
from mergecheck.reference.analysis.constraints import parsed
from mergecheck.reference.analysis.validation import STAR_MISUSED, refused_in_plan
from mergecheck.reference.asked.asker import Asker
from mergecheck.reference.casts.conversions import Failure, cast
from mergecheck.reference.expressions.names import Relation, Scope
from mergecheck.reference.expressions.translation import Translator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.types.data_types import DataType, Field, Identity, Schema

_LEAST_BIGINT = -(2**63)
_MANY_ROWS = 2**32
_OVERFLOW = "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"
_UNKNOWN = "error('UNSUPPORTED a generated column that uses a column without a value')"


def default_value(column: Field, asker: Asker | None = None) -> Typed:
    """Give the value of a column that an INSERT does not name: its default, else NULL (R-220).

    Args:
        column: a column of the table.
        asker: asks for a default that has no translation.

    Raises:
        UnsupportedByReferenceError: for a default whose value cannot be predicted.
    """
    if column.default is None:
        return Typed(sql=typed_null(column.type), type=column.type)
    return _computed(column.default, column.type, asker or Asker(), relations=(), case_sensitive=False)


def example_id(identity: Identity) -> Typed:
    """Give a value that an identity column may generate for a source row (R-226): a different one for each ``sid``.

    Raises:
        UnsupportedByReferenceError: if BIGINT may end before the values do.
    """
    if not _LEAST_BIGINT <= identity.first + identity.step * _MANY_ROWS <= -_LEAST_BIGINT - 1:
        raise UnsupportedByReferenceError("an identity column whose values come to the end of BIGINT")
    return Typed(sql=f"({identity.first}::BIGINT + {identity.step}::BIGINT * sid)", type=BIGINT)


def generated_value(
    column: Field,
    schema: Schema,
    values: Mapping[str, Typed],
    asker: Asker | None = None,
    *,
    case_sensitive: bool = False,
) -> Typed:
    """Compute a generated column from the values of a new row (R-222, R-223).

    Args:
        column: a generated column of the table.
        schema: the final schema.
        values: by column name, the new row's values of the type of their columns, as DuckDB SQL.
        asker: asks for an expression that has no translation.
        case_sensitive: ``spark.sql.caseSensitive``.

    Raises:
        RejectedError: for an expression with a star, which Spark does not resolve here.
        UnsupportedByReferenceError: for an expression that the reference cannot translate.
        ValueError: for a column that is not generated.
    """
    if column.generated is None:
        raise ValueError(f"column {column.name} has no generation expression")
    if refused_in_plan(parsed(column.generated)) == STAR_MISUSED:
        what = f"the generation expression of {column.name}, {column.generated}"
        raise RejectedError("DELTA_CANNOT_RESOLVE_EXPRESSION", f"{what}, has a star")
    given = tuple(f"({values[c.name].sql})" if c.name in values else _UNKNOWN for c in schema.columns)
    row = Relation(side=TableSide.TARGET, qualifier="", schema=schema, values=given)
    computed = _computed(
        column.generated, column.type, asker or Asker(), relations=(row,), case_sensitive=case_sensitive
    )
    used = frozenset(side for value in values.values() for side in value.sides)
    return Typed(sql=computed.sql, type=computed.type, sides=used, partial=computed.partial)


def _computed(
    text: str, wanted: DataType, asker: Asker, *, relations: tuple[Relation, ...], case_sensitive: bool
) -> Typed:
    scope = Scope(relations=relations, place="column expression", case_sensitive=case_sensitive)
    try:
        value = asker.value(parsed(text), text, Translator(scope))
    except RejectedError:  # such a table cannot be made
        raise UnsupportedByReferenceError("a column expression that does not resolve") from None
    if value.type == VOID:
        null = typed_null(wanted)
        return Typed(
            sql=null if value.sql == "NULL" else f"CASE WHEN ({value.sql}) IS NULL THEN {null} END", type=wanted
        )
    if not asker.is_utc and value.type != wanted and TIMESTAMP in (value.type, wanted):
        raise UnsupportedByReferenceError("a cast of TIMESTAMP in another time zone than UTC")
    sql = cast(value.sql, value.type, wanted, Failure.ERROR, _OVERFLOW)
    return Typed(sql=sql, type=wanted, partial=value.partial or value.type != wanted)
