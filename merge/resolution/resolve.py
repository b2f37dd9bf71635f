"""From a statement and two schemas to a ``ResolvedMerge``, with checks in the order of R-113."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.merge.conf import AutomaticWidening
from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.expressions.clock import StatementClock
from mergecheck.merge.expressions.scope import Relation, Side
from mergecheck.merge.resolution.delta_merge_into import DeltaMergeInto
from mergecheck.merge.resolution.implicit_columns import implicit_columns
from mergecheck.merge.resolution.preprocess import preprocess_table_merge
from mergecheck.merge.resolution.references import resolve_references_and_schema
from mergecheck.merge.syntax.dialect import parse_name
from mergecheck.merge.types.text_limits import padded_columns

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from mergecheck.merge.conf import MergeConf
    from mergecheck.merge.expressions.expression_types import ExpressionTypes
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.syntax.statement import MergeStatement


def resolve(
    statement: MergeStatement,
    *,
    target_schema: StructType,
    source_schema: StructType,
    repeated: frozenset[str] = frozenset(),
    conf: MergeConf,
    types: ExpressionTypes,
    clock: StatementClock | None = None,
    widens: bool = False,
) -> ResolvedMerge:
    """Resolve every name, type and value of a statement.

    Args:
        statement: as the user wrote it.
        target_schema: the table's columns, with their metadata: defaults and generation expressions are read from it.
        source_schema: the source's columns.
        repeated: names of source columns that its query lists several times (R-118).
        conf: the session's settings.
        types: returns the types of expressions.
        clock: the time of the statement (R-136); now, if left out.
        widens: evolution may widen the types of columns, because the table's property allows it (R-237).

    Raises:
        AnalysisError: the statement is wrong for these tables; see part 1 and 2 of the specification.
        UnsupportedStatementError: a generated column would have to be computed from a random value.
    """
    evolution = statement.with_schema_evolution or conf.schema_auto_merge
    if not target_schema.fields and not evolution and conf.empty_schema_target_check:
        raise AnalysisError(
            "DELTA_MERGE_INTO_EMPTY_SCHEMA_TARGET",
            "Cannot MERGE INTO a table with no columns. The target table must have columns, "
            "or schema evolution must be enabled.",
        )
    merge = DeltaMergeInto.apply(
        target=replace(
            _relation(Side.TARGET, statement.target_alias, statement.target, target_schema),
            padded=frozenset(padded_columns(target_schema, padding=conf.read_side_char_padding)),
            has_metadata=True,
        ),
        source=replace(
            _relation(Side.SOURCE, statement.source_alias, statement.source, source_schema),
            repeated=repeated,
            has_metadata=bool(statement.source) and statement.source.lower() == statement.target.lower(),
        ),
        condition=statement.condition,
        when_clauses=statement.clauses,
        with_schema_evolution=evolution,
    )
    clock = clock or StatementClock.start()
    bound = resolve_references_and_schema(
        merge,
        case_sensitive=conf.case_sensitive,
        clock=clock,
        types=types,
        by_field=not conf.preserve_null_source_structs_update_star,
        widening=conf.allow_automatic_widening if widens else AutomaticWidening.NEVER,
    )
    return preprocess_table_merge(
        bound,
        target_schema=target_schema,
        source_schema=source_schema,
        implicit=implicit_columns(target_schema, case_sensitive=conf.case_sensitive, clock=clock),
        evolution=evolution,
        conf=conf,
        types=types,
    )


def _relation(side: Side, alias: str | None, name: str, schema: StructType) -> Relation:
    """Name a side: an alias hides the table's own name (R-119)."""
    if alias:
        return Relation(side=side, qualifier=(alias,), schema=schema)
    is_name = bool(name) and not name.startswith("(")
    return Relation(side=side, qualifier=parse_name(name) if is_name else (), schema=schema)
