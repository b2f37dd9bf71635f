"""Batches: many independent pairs of tables in one merge.

An engine's cost is mostly per statement, not per row. A column with the number of the pair is added to both tables, to
ON and to a source query, so that one MERGE treats each pair as it would alone. The rows of the pairs are drawn from the
case's own: whole target rows, since constraints hold for them, and source rows cell by cell from the values of both
tables.

A batch is a case like any other: the reference predicts it as a whole, and the comparator holds the engine against
that. How its pairs were kept apart decides only what a difference is cut to.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.log_invariants.identity_invariants import settle_ids
from mergecheck.harness.compare.rows import unmatched_rows
from mergecheck.harness.properties.merge_text import merge_text, written_merge
from mergecheck.harness.properties.repeatable_values import has_random_values
from mergecheck.harness.search.paired_query import PAIR, paired_query
from mergecheck.model.case_file import change_schema
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import Outcome, Prediction, Unsupported
from mergecheck.model.types.data_types import BIGINT, Field, Schema
from mergecheck.reference.syntax.statement import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case, Row, Source, Value
    from mergecheck.reference.answer import Reference

MOST_ROWS = 8
_KEPT = 0.6  # the share of unchanged cells of a source row: matches stay likely
_KEPT_OF_QUERY = 0.9  # a query finds its rows by cells, and orders them by cells that differ
_MOST_EVALUATIONS = 4
"""What finding the pairs that fail may take; each time is about as long as the reference needs for a whole batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Several cases of one statement that the reference predicts together.

    Attributes:
        case: all of them in one case.
        singles: each alone; ``case`` has their rows in this order.
        reference: the answer for ``case``, a prediction.
        apart: cases of the same statement whose merge fails.
        num_left_out: cases of the same statement that were not separated from these in time.
    """

    case: Case
    singles: tuple[Case, ...]
    reference: Reference
    apart: tuple[Case, ...] = ()
    num_left_out: int = 0


def batch_of(case: Case, random: Random, *, size: int, evaluate: Callable[[Case], Reference]) -> Batch | None:
    """Make a batch of a case and of others with its statement; the pairs whose merge fails stay apart.

    Args:
        case: the first of them.
        random: draws the rows; a larger batch has the pairs of a smaller one, and more.
        size: number of pairs of tables, the case's own included.
        evaluate: asks the reference.

    Returns:
        None if the statement cannot be in a batch, or if too many pairs fail.
    """
    names = {name.lower() for table in case.all_tables for name in table.schema.names}
    if case.expect is not None or has_random_values(case.sql) or PAIR in names:
        return None
    sql = _with_pairs(case)
    if sql is None:
        return None
    found: Batch | None = None
    for are_whole in (False, True):
        singles = similar_cases(case, random, size=size, are_whole=are_whole)
        parts = _Parts(evaluate, sql)
        good = parts.predicted(singles) if singles else ()
        together = parts.together(good) if len(good) > 1 else None
        if together is not None and isinstance(together[1].answer, Prediction):
            batch = Batch(
                case=together[0],
                singles=good,
                reference=together[1],
                apart=tuple(parts.apart),
                num_left_out=len(singles) - len(good) - len(parts.apart),
            )
            found = batch if found is None or len(found.singles) < len(good) else found
        if not singles or parts.fails_always or 2 * len(good) >= size:
            break
    return found


@dataclass(slots=True)
class _Parts:
    """Finds the pairs that the reference predicts, and those whose merge fails.

    Attributes:
        evaluate: asks the reference.
        sql: the statement with the number of the pair.
        apart: the pairs whose merge fails.
        fails_always: whether the statement is refused or unsupported with any rows.
    """

    evaluate: Callable[[Case], Reference]
    sql: str
    apart: list[Case] = field(default_factory=list)
    fails_always: bool = False
    _num_asked: int = 0
    _last: tuple[tuple[Case, ...], Case, Reference] | None = None

    def together(self, singles: tuple[Case, ...]) -> tuple[Case, Reference]:
        """Put cases into one and ask the reference, unless it was asked about the same ones just before."""
        if self._last is None or self._last[0] != singles:
            case = singles[0] if len(singles) == 1 else _joined(singles, self.sql)
            self._num_asked += 1
            self._last = singles, case, self.evaluate(case)
        return self._last[1:]

    def predicted(self, singles: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return the pairs that the reference predicts together.

        Rows for which the merge fails are known from one evaluation; other pairs that fail are found by halves. What is
        not found within ``_MOST_EVALUATIONS`` is left out.
        """
        if not singles or self._num_asked >= _MOST_EVALUATIONS:
            return ()
        case, reference = self.together(singles)
        if isinstance(reference.answer, Prediction):
            return singles
        if len(singles) == 1:
            self.apart += singles
            return ()
        if self._num_asked == 1:
            self.fails_always = self._is_refused(singles[0], reference)
        if self.fails_always:
            return ()
        if failing := _pairs_at_fault(case, reference):
            self.apart += (singles[number] for number in sorted(failing))
            return self.predicted(tuple(one for number, one in enumerate(singles) if number not in failing))
        middle = len(singles) // 2
        return (*self.predicted(singles[:middle]), *self.predicted(singles[middle:]))

    def _is_refused(self, first: Case, reference: Reference) -> bool:
        if isinstance(reference.answer, Unsupported):
            self._num_asked += 1
            return isinstance(self.evaluate(first).answer, Unsupported)
        return reference.trace.merge is None


def joined(singles: Sequence[Case]) -> Case | None:
    """Put cases of one statement into one merge; a single one stays as it is.

    Args:
        singles: as ``similar_cases`` gives them, or some of these.

    Returns:
        None if the statement has no place for the column that keeps the pairs apart.
    """
    sql = _with_pairs(singles[0]) if len(singles) > 1 else None
    return singles[0] if len(singles) == 1 else None if sql is None else _joined(singles, sql)


def _joined(singles: Sequence[Case], sql: str) -> Case:
    case, source = singles[0], singles[0].source
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
        source=None if source is None else replace(source, schema=Schema((*source.schema.columns, column)), rows=rows),
        sql=sql,
    )


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
    answer = settle_ids(answer, result).prediction
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


def similar_cases(case: Case, random: Random, *, size: int, are_whole: bool = False) -> tuple[Case, ...]:
    """Draw cases of one statement, each with rows of its own.

    Args:
        case: the first of them.
        random: draws the rows.
        size: number of cases.
        are_whole: take the rows of the source as they are; new ones more often fail, by a constraint or a cast.

    Returns:
        none if the case's tables have no rows to draw from.
    """
    source = case.source
    if not case.target.rows and (source is None or not source.rows):
        return ()
    text = merge_text(case.sql)
    kept = 1.0 if are_whole else _KEPT if text is not None and text.is_source_table else _KEPT_OF_QUERY
    values = () if source is None else tuple(_values(case, source, index) for index in range(len(source.schema.names)))
    return (case, *(_drawn_anew(case, random, values, kept=kept) for _ in range(size - 1)))


def _with_pairs(case: Case) -> str | None:
    """Add the column to ON, to the lists of INSERT and to a source query; None if it has no place there."""
    text, merge = merge_text(case.sql), written_merge(case.sql)
    if text is None or merge is None or text.ctes is not None:
        return None
    if any(part.tree.holds("query") for part in (merge.on, *(clause.piece for clause in merge.clauses))):
        return None
    if "(" in f"{text.target_alias}{text.source_alias}":  # other names for all columns
        return None
    tables = frozenset({"target"} if case.source is None else {"target", "source"})
    source: str | None = text.source
    if text.query is not None:
        query = paired_query(text.query, tables) if text.source_alias is not None else None
        source = None if query is None else f"({query})"
    elif text.source.strip("`").lower() not in tables:
        source = None
    if source is None:
        return None
    pair = f"{text.source_name}.{PAIR}"
    clauses = (
        clause.assigning((*clause.columns, PAIR), (*clause.values, pair))
        if clause.action is Action.INSERT and not clause.star
        else clause
        for clause in text.clauses
    )
    on = f"({text.on}) AND {text.target_name}.{PAIR} = {pair}"
    return replace(text, source=source, on=on, clauses=tuple(clauses)).sql()


def _pairs_at_fault(case: Case, reference: Reference) -> frozenset[Value]:
    """Return the pairs with a row for which the merge fails."""
    rows, place = physical_rows(case.target), case.target.schema.names.index(PAIR)
    fault, source = reference.trace.at_fault, reference.trace.source
    found = {rows[rid][place] for rid in fault.rids}
    if source is not None:
        given = source.schema.names.index(PAIR)
        found |= {source.rows[sid][given] for sid in fault.sids}
    return frozenset(found)


def _drawn_anew(case: Case, random: Random, values: Sequence[Sequence[Value]], *, kept: float) -> Case:
    rows, source = case.target.rows, case.source
    chosen = [random.choice(rows) for _ in range(random.randint(0, min(len(rows) + 1, MOST_ROWS)))] if rows else []
    num_files = random.randint(1, max(1, len(case.target.files)))
    files = tuple(tuple(chosen[start::num_files]) for start in range(num_files))
    target = replace(case.target, files=tuple(file for file in files if file))
    if source is None:
        return replace(case, target=target)
    num_given = random.randint(0, min(len(source.rows) + 1, MOST_ROWS)) if source.rows else 0
    given = tuple(_source_row(source, random, values, kept=kept) for _ in range(num_given))
    return replace(case, target=target, source=replace(source, rows=given))


def _source_row(source: Source, random: Random, values: Sequence[Sequence[Value]], *, kept: float) -> Row:
    row = random.choice(source.rows)
    return tuple(
        cell if random.random() < kept else random.choice(of_column)
        for cell, of_column in zip(row, values, strict=True)
    )


def _values(case: Case, source: Source, index: int) -> list[Value]:
    """Return the values that a source column may hold: its own, and those in its namesake in the target."""
    column = source.schema.columns[index]
    found = [row[index] for row in source.rows]
    for place, other in enumerate(case.target.schema.columns):
        if other.name.lower() == column.name.lower() and other.type == column.type:
            found += [row[place] for row in case.target.rows]
    return [value for value in found if value is not None] or found if not column.nullable else found
