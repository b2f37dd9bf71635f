"""CHECK constraints and generated columns, as an output column that names the violated one (R-740, R-742)."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.types import BooleanType, NullType
from sqlglot import exp

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.expressions.binding import bind
from mergecheck.merge.expressions.clock import StatementClock
from mergecheck.merge.expressions.conditions import (
    may_be_left_out,
    parts_of_the_plan,
    parts_without_a_start,
    refused_in_plan,
    unevaluable_parts,
)
from mergecheck.merge.expressions.functions import subqueries
from mergecheck.merge.expressions.resolved import target_column
from mergecheck.merge.expressions.scope import Relation, Scope, Side
from mergecheck.merge.syntax.dialect import quote_name, tokenize, without_final_comment
from mergecheck.merge.syntax.expression_reader import parse_expression
from mergecheck.merge.syntax.identifier_clause import names_a_column, with_names
from mergecheck.merge.table.log.partition_values import sql_string
from mergecheck.merge.table.writing.row_records import ACTION
from mergecheck.merge.types.invariants import invariants
from mergecheck.merge.types.text_limits import length_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

CONSTRAINT_PREFIX: Final = "delta.constraints."
GENERATION_EXPRESSION: Final = "delta.generationExpression"
VIOLATION_COLUMN: Final = "_violation_"
VIOLATED, TOO_LONG = "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"
GENERATED: Final = "Generated Column"
UNEVALUABLE, NOT_STARTED = "INTERNAL_ERROR", "SparkException"
"""The latter has no class of Spark's: a task of Delta ends with an error of Java."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A condition that every row written must satisfy; NULL violates it, any other value but FALSE does not (R-742).

    ``text`` is what messages show, ``sql`` is over positional names, of which ``columns`` gives the tables' names.
    With a ``refusal`` no write can be planned (R-747).
    """

    name: str
    text: str
    sql: str
    columns: Mapping[str, str]
    error_class: str = VIOLATED
    refusal: AnalysisError | None = None


def table_checks(properties: Mapping[str, str], schema: StructType) -> tuple[Check, ...]:
    """Collect a table's CHECK constraints, invariants, lengths, and what its generated columns ask for (R-222, R-740).

    Constraints are in the order of their names, so that a row that breaks several always gets the same message:
    properties come in any order. Names mean columns in any case (R-747).

    Raises:
        UnsupportedStatementError: an expression is beyond the parser of this package.
    """
    relation = Relation(side=Side.TARGET, qualifier=(), schema=schema)
    scope = Scope(relations=(relation,), case_sensitive=False)
    clock = StatementClock.start()
    checks = []
    for name, condition in sorted(properties.items()):
        if name.startswith(CONSTRAINT_PREFIX):
            text = _unwrapped(condition, of=f"the constraint {name.removeprefix(CONSTRAINT_PREFIX)}")
            checks.append(_constraint(name.removeprefix(CONSTRAINT_PREFIX), text, scope, clock))
    for field in schema.fields:
        expression = (field.metadata or {}).get(GENERATION_EXPRESSION)
        if expression is not None:
            holds = f"<=> ({_unwrapped(expression, of=f'the generated column {field.name}')})"
            text, condition = f"{field.name} {holds}", f"{quote_name(field.name)} {holds}"
            refused = _refused(GENERATED, condition)
            checks.append(refused or _check(GENERATED, text, condition, scope, clock))
    for condition in invariants(schema):
        text = _unwrapped(condition, of="an invariant")
        checks.append(_constraint(f"EXPRESSION({text})", text, scope, clock))
    checks.extend(_limits(schema))
    return tuple(checks)


def _limits(schema: StructType) -> Iterator[Check]:
    for index, field in enumerate(schema.fields):
        column = target_column(index)
        condition, text = (length_condition(field.metadata, value) for value in (column, quote_name(field.name)))
        if condition is not None and text is not None:
            columns = {column: field.name}
            yield Check(name="length", text=text, sql=condition, columns=columns, error_class=TOO_LONG)


def with_violations(
    output: DataFrame, checks: Sequence[Check], *, num_columns: int, unwritten: Iterable[int]
) -> DataFrame:
    """Append the column ``_violation_``: NULL for a row that may be written, else its fault.

    Args:
        output: ``_action_``, the table's columns in order, which come back under positional names, and others.
        checks: the conditions.
        num_columns: how many columns the table has.
        unwritten: actions whose rows are only counted, so that nothing is asked of them (R-740).
    """
    if not checks:
        return output
    positional = [target_column(index) for index in range(num_columns)]
    named = output.toDF(ACTION, *positional, *output.columns[num_columns + 1 :])
    values = named.selectExpr(*(f"({check.sql}) AS value" for check in checks)).schema
    branches = [
        f"WHEN ({check.sql}) {_violated(value.dataType)} THEN {_message(check)}"
        for check, value in zip(checks, values, strict=True)
    ]
    codes = ", ".join(str(code) for code in unwritten)
    if codes:
        branches.insert(0, f"WHEN {ACTION} IN ({codes}) THEN CAST(NULL AS STRING)")
    violation = f"CASE {' '.join(branches)} ELSE CAST(NULL AS STRING) END AS {VIOLATION_COLUMN}"
    return named.selectExpr("*", violation)


def _violated(data_type: DataType) -> str:
    return "IS NOT TRUE" if isinstance(data_type, BooleanType | NullType) else "IS NULL"


def check_plan(checks: Sequence[Check], spark: SparkSession) -> None:
    """Refuse to plan a write to a table with a constraint that Spark's analysis cannot resolve by itself (R-747).

    Raises:
        AnalysisError: if there is one.
    """
    for check in checks:
        if check.refusal is not None:
            if check.refusal.error_class == UNEVALUABLE:
                for query in subqueries(check.text):
                    spark.sql(f"SELECT EXISTS {query}")  # raises for a name that its own FROM does not explain
            raise check.refusal


def _refused(name: str, text: str) -> Check | None:
    """Make the check that no write can be planned with (R-747); None if one can."""
    error_class = UNEVALUABLE if names_a_column(text) else refused_in_plan(parse_expression(text), text)
    if error_class is None:
        return None
    refusal = AnalysisError(error_class, f"Spark cannot evaluate the constraint {name} ({text}). Drop it.")
    return Check(name=name, text=text, sql="false", columns={}, refusal=refusal)


def _constraint(name: str, text: str, scope: Scope, clock: StatementClock) -> Check:
    if (refused := _refused(name, text)) is not None:
        return refused
    tree = parse_expression(text)
    without_value, without_start = unevaluable_parts(tree), parts_without_a_start(tree)
    if any(map(may_be_left_out, [*without_value, *without_start])) or (without_value and without_start):
        raise UnsupportedStatementError(
            f"the constraint {name} with the expression {text}",
            hint="A part of it has no value on any row. Drop the constraint.",
        )
    if parts_of_the_plan(tree):
        raise UnsupportedStatementError(
            f"the constraint {name} with the expression {text}",
            hint="Its value depends on how files are read and rows are divided. Drop the constraint.",
        )
    if without_value or without_start:
        error_class = UNEVALUABLE if without_value else NOT_STARTED
        return Check(name=name, text=text, sql="false", columns={}, error_class=error_class)
    return _check(name, text, text, scope, clock)


def _check(name: str, text: str, condition: str, scope: Scope, clock: StatementClock) -> Check:
    bound = bind(condition, scope, where=f"constraint {name}", clock=clock, unknown_is_null=True)
    names = scope.relations[0].schema.names
    columns = {target_column(index): names[index] for index in sorted(bound.target_columns)}
    return Check(name=name, text=text, sql=bound.sql, columns=columns)


def _message(check: Check) -> str:
    """Write class and text of R-742 for a row: the constraint, and the values of its columns in alphabetical order."""
    if check.error_class in (UNEVALUABLE, NOT_STARTED):
        said = f"Spark cannot evaluate the constraint {check.name} ({check.text}) on a row."
    elif check.error_class == TOO_LONG:
        said = f"Value exceeds char/varchar type length limitation. Failed check: {check.text}, row with values:"
    else:
        said = f"CHECK constraint {check.name} ({check.text}) violated by row with values:"
    pieces = [sql_string(f"{check.error_class} {said}")]
    for positional, name in sorted(check.columns.items(), key=lambda item: item[1]):
        pieces += [sql_string(f"\n - {name} : "), f"coalesce(CAST({positional} AS STRING), 'null')"]
    return f"concat({', '.join(pieces)})"


def _unwrapped(text: str, *, of: str) -> str:
    """Remove brackets around a whole expression, since messages add their own, and write names for IDENTIFIER.

    A column is named by IDENTIFIER in no text that Delta can evaluate, so that such a text stays as it is.
    """
    try:
        if names_a_column(text):
            return without_final_comment(text)
        text = with_names(text)
        while isinstance(parse_expression(text), exp.Paren):
            tokens = tokenize(text)
            text = text[tokens[0].end + 1 : tokens[-1].start].strip()
    except AnalysisError as error:  # the table has been created with it, so it is SQL
        raise UnsupportedStatementError(
            f"{of} with the expression {text}", hint="Its rows could not be checked. Write the expression differently."
        ) from error
    return without_final_comment(text)
