"""Batches: many independent pairs of tables in one merge.

Spark's cost is per statement, not per row. A column with the number of the pair is added to both tables and to ON, so
that one MERGE treats each pair as it would alone. The rows of the pairs are drawn from the case's own:
whole target rows, since constraints hold for them, and source rows cell by cell from the values of both tables.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.rows import unmatched_rows
from mergecheck.harness.properties.merge_text import merge_text, words_of
from mergecheck.harness.properties.repeatable_values import has_random_values
from mergecheck.harness.properties.source_tables import source_table
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Outcome, Prediction
from mergecheck.model.storage import SourceLayout, TargetLayout
from mergecheck.model.types.data_types import BIGINT, Field, Schema
from mergecheck.reference.syntax.statement import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case, Row, Source, Value

PAIR = "mergecheck_pair"
MOST_ROWS = 8
_KEPT = 0.6  # the share of unchanged cells of a source row: matches stay likely


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Several cases of one statement.

    Attributes:
        case: all of them in one case.
        singles: each alone; ``case`` has their rows in this order.
    """

    case: Case
    singles: tuple[Case, ...]


def batch_of(case: Case, random: Random, *, size: int, max_source_rows: int = MOST_ROWS) -> Batch | None:
    """Make a batch of a case and of others with its statement.

    Args:
        case: its tables must have the plain layout but for row groups and batches, its source must be a table, its
            values must not be random.
        random: draws the rows.
        size: number of pairs of tables, the case's own included.
        max_source_rows: limit for the drawn pairs; a single source row cannot match ambiguously.

    Returns:
        None if the case cannot be put in a batch.
    """
    source = case.source
    if source is None or replace(case.target.layout, row_group_rows=None) != TargetLayout():
        return None
    if replace(source.layout, batch_rows=None) != SourceLayout():
        return None
    singles = similar_cases(case, random, size=size, max_source_rows=max_source_rows)
    together = joined(singles) if singles else None
    return None if together is None else Batch(case=together, singles=singles)


def joined(singles: Sequence[Case]) -> Case | None:
    """Put cases of one statement into one merge; a single one stays as it is.

    Args:
        singles: as ``similar_cases`` gives them, or some of these.

    Returns:
        None if the statement has no place for the column that keeps the pairs apart.
    """
    case, source = singles[0], singles[0].source
    if len(singles) == 1:
        return case
    sql = _with_pairs(case.sql)
    if sql is None or source is None:
        return None
    column = Field(PAIR, BIGINT)
    num_files = max(len(single.target.files) for single in singles)
    files = tuple(
        tuple(
            (*row, number)
            for number, single in enumerate(singles)
            if index < len(single.target.files)
            for row in single.target.files[index]
        )
        for index in range(num_files)
    )
    rows = tuple(
        (*row, number)
        for number, single in enumerate(singles)
        for row in (single.source.rows if single.source is not None else ())
    )
    return replace(
        case,
        target=replace(
            case.target,
            schema=Schema((*case.target.schema.columns, column)),
            files=tuple(file for file in files if file),
        ),
        source=replace(source, schema=Schema((*source.schema.columns, column)), rows=rows),
        sql=sql,
    )


def smallest_part(singles: Sequence[Case], shows: Callable[[Case], bool]) -> Case | None:
    """Halve a batch as long as a half shows something.

    Args:
        singles: the cases of the batch.
        shows: returns whether a case shows it.

    Returns:
        One of the cases alone, or a smaller batch if no case alone shows it; None if no part does.
    """
    found: Case | None = None
    while len(singles) > 1:
        middle = len(singles) // 2
        halves = ((half, joined(half)) for half in (singles[:middle], singles[middle:]))
        part = next(((half, case) for half, case in halves if case is not None and shows(case)), None)
        if part is None:
            break
        singles, found = part
    return found


def differing_pairs(report: CaseReport) -> tuple[int, ...]:
    """Return the pairs of a batch whose rows or change rows differ from the prediction, by their numbers.

    Pairs that differ in another way come after each other, so that the first ones show as many faults as possible.

    Returns:
        none if the report is of no batch, or if no rows can be compared.
    """
    answer, result = report.reference.answer, report.result
    if not isinstance(answer, Prediction) or not isinstance(result, Outcome):
        return ()
    differences: dict[int, list[str]] = {}
    if PAIR not in answer.schema.names or PAIR not in result.schema.names:
        return ()
    place = answer.schema.names.index(PAIR)
    for wanted, came, schemas in (
        (answer.rows, result.rows, (answer.schema, result.schema)),
        (answer.cdf or (), result.cdf or (), (change_schema(answer.schema), change_schema(result.schema))),
    ):
        if not came:
            continue
        missing, extra = unmatched_rows(wanted, came, wanted_schema=schemas[0], found_schema=schemas[1])
        for sign, rows in (("-", missing), ("+", extra)):
            for row in (one.row for one in rows if isinstance(one.row[place], int)):
                text = f"{sign} {(*row[:place], *row[place + 1 :])!r}"
                differences.setdefault(row[place], []).append(text)
    by_form: dict[str, list[int]] = {}
    for number in sorted(differences):
        by_form.setdefault(" ".join(sorted(differences[number])), []).append(number)
    return tuple(n for turn in itertools.zip_longest(*by_form.values()) for n in turn if n is not None)


def similar_cases(case: Case, random: Random, *, size: int, max_source_rows: int = MOST_ROWS) -> tuple[Case, ...]:
    """Draw cases of one statement, each with rows of its own.

    Args:
        case: the first of them; its source must be a table, its values must not be random.
        random: draws the rows.
        size: number of cases.
        max_source_rows: limit for the drawn ones; a single source row cannot match ambiguously.

    Returns:
        none if the case has no similar ones.
    """
    source = case.source
    if source is None or not case.target.rows or not _has_similar_ones(case, source) or case.expect is not None:
        return ()
    return (case, *(_drawn_anew(case, source, random, max_source_rows=max_source_rows) for _ in range(size - 1)))


def _has_similar_ones(case: Case, source: Source) -> bool:
    return (
        not has_random_values(case.sql)
        and not any(column.identity is not None for column in case.target.schema.columns)
        and source_table(case) is source
        and "SELECT" not in {word.upper() for word in words_of(case.sql)}
        and PAIR not in {name.lower() for name in (*case.target.schema.names, *source.schema.names)}
    )


def _with_pairs(sql: str) -> str | None:
    """Add the column to ON and to the lists of INSERT; None if the source is a query, or the text cannot be read."""
    text = merge_text(sql)
    if text is None or not text.is_source_table:
        return None
    pair = f"{text.source_name}.{PAIR}"
    clauses = (
        clause.assigning((*clause.columns, PAIR), (*clause.values, pair))
        if clause.action is Action.INSERT and not clause.star
        else clause
        for clause in text.clauses
    )
    on = f"({text.on}) AND {text.target_name}.{PAIR} = {pair}"
    return replace(text, on=on, clauses=tuple(clauses)).sql()


def _drawn_anew(case: Case, source: Source, random: Random, *, max_source_rows: int) -> Case:
    rows = case.target.rows
    kept = [random.choice(rows) for _ in range(random.randint(0, min(len(rows) + 1, MOST_ROWS)))]
    num_files = random.randint(1, max(1, len(case.target.files)))
    files = tuple(tuple(kept[start::num_files]) for start in range(num_files))
    num_given = random.randint(0, min(len(source.rows) + 1, max_source_rows)) if source.rows else 0
    given = tuple(_source_row(case, source, random) for _ in range(num_given))
    return replace(
        case,
        target=replace(case.target, files=tuple(file for file in files if file)),
        source=replace(source, rows=given),
    )


def _source_row(case: Case, source: Source, random: Random) -> Row:
    row = random.choice(source.rows)
    return tuple(
        cell if random.random() < _KEPT else random.choice(_values(case, source, index))
        for index, cell in enumerate(row)
    )


def _values(case: Case, source: Source, index: int) -> list[Value]:
    """Return the values that a source column may hold: its own, and those in its namesake in the target."""
    column = source.schema.columns[index]
    found = [row[index] for row in source.rows]
    for place, other in enumerate(case.target.schema.columns):
        if other.name.lower() == column.name.lower() and other.type == column.type:
            found += [row[place] for row in case.target.rows]
    return [value for value in found if value is not None] or found if not column.nullable else found
