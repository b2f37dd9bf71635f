"""The row model against the reference: two oracles that share no code must agree before an engine is asked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.harness.search.paired_query import PAIR
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import Bound, MergePath, Prediction, Rejection, Unsupported
from mergecheck.reference.dialects import MULTI_MATCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mergecheck.harness.lab.exhaustive.row_model import Result
    from mergecheck.harness.lab.exhaustive.scope import Statement
    from mergecheck.model.case import Case, Row
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.answer import Reference

_VECTORS = "delta.enableDeletionVectors"
_PERSISTENT = "spark.databricks.delta.merge.deletionVectors.persistent"
_MOST_SHOWN = 3


def modelled_path(statement: Statement, result: Result) -> MergePath:
    """Return the path of R-402 that the row model predicts."""
    tables = statement.tables
    if statement.is_path_a:
        return MergePath.A
    if not any(is_touched for _, _, is_touched in result.files.values()):
        return MergePath.B if any(clause.kind == "not matched" for clause in statement.clauses) else MergePath.C
    has_vectors = tables.properties.get(_VECTORS) == "true" and tables.conf.get(_PERSISTENT, "true") == "true"
    return MergePath.E if has_vectors else MergePath.D


def modelled_metrics(statement: Statement, result: Result) -> Mapping[str, int]:
    """Return the metrics of R-510 that are exact, of all pairs of tables together."""
    counts, path = result.counts, modelled_path(statement, result)
    touched = [(size, changed) for size, changed, is_touched in result.files.values() if is_touched]
    copied = sum(size - changed for size, changed in touched) if path is MergePath.D else 0
    removed = {MergePath.D: len(touched), MergePath.E: sum(size == changed for size, changed in touched)}
    updated = counts["matched updated"] + counts["by source updated"]
    return {
        "numSourceRows": counts["source"],
        "numTargetRowsInserted": counts["inserted"],
        "numTargetRowsUpdated": updated,
        "numTargetRowsMatchedUpdated": counts["matched updated"],
        "numTargetRowsNotMatchedBySourceUpdated": counts["by source updated"],
        "numTargetRowsDeleted": counts["matched deleted"] + counts["by source deleted"],
        "numTargetRowsMatchedDeleted": counts["matched deleted"],
        "numTargetRowsNotMatchedBySourceDeleted": counts["by source deleted"],
        "numTargetRowsCopied": copied,
        "numOutputRows": counts["inserted"] + updated + copied,
        "numTargetFilesRemoved": removed.get(path, 0),
    }


def dispute(statement: Statement, case: Case, result: Result, reference: Reference) -> tuple[str, ...]:
    """Return how the reference differs from the row model on pairs of tables that are merged together.

    Args:
        statement: of the scope.
        case: the pairs in one case, or one pair alone.
        result: the row model's.
        reference: the reference's answer to the case.
    """
    answer = reference.answer
    if not isinstance(answer, Prediction):
        return (f"the row model has a result, the reference has {_described(answer)}",)
    found = [*_rows("rows", result.rows, _ordered(answer.rows, answer.schema, statement))]
    if case.target.change_data_feed:
        found += _rows("change rows", result.changes, _ordered(answer.cdf or (), answer.schema, statement))
    path = modelled_path(statement, result)
    if path is not answer.path:
        found.append(f"path {path.value} by the row model, {answer.path.value} by the reference")
    for name, value in modelled_metrics(statement, result).items():
        if answer.metrics[name] != Bound(value, value):
            found.append(f"{name} {value} by the row model, {answer.metrics[name]} by the reference")
    return tuple(found)


def ambiguity_dispute(pairs: Sequence[int], case: Case, reference: Reference) -> tuple[str, ...]:
    """Return the pairs that the row model calls ambiguous, and in which the reference sees no row with two matches.

    Args:
        pairs: their numbers, by their places in the case.
        case: all of them in one case.
        reference: the reference's answer to it.
    """
    answer, matches = reference.answer, reference.trace.matches
    if not isinstance(answer, Rejection) or answer.error_class != MULTI_MATCH or matches is None:
        return (f"ambiguous by the row model, the reference has {_described(answer)}",)
    if len(pairs) == 1:
        return ()
    rows, place = physical_rows(case.target), case.target.schema.names.index(PAIR)
    seen = {rows[rid][place] for rid in matches.multi_matched}
    return tuple(f"pair {pair} is ambiguous by the row model only" for i, pair in enumerate(pairs) if i not in seen)


def _ordered(rows: Iterable[Row], schema: Schema, statement: Statement) -> Counter[Row]:
    """Put the columns in the row model's order: the target's, then the number of the pair, then the type of change."""
    names = list(schema.names)
    places = [names.index(name) for name in statement.final_columns]
    places += [names.index(PAIR)] if PAIR in names else []
    alone = () if PAIR in names else (0,)
    return Counter((*(row[place] for place in places), *alone, *row[len(names) :]) for row in rows)


def _rows(what: str, model: Counter[Row], reference: Counter[Row]) -> Iterator[str]:
    for who, only in (("row model", model - reference), ("reference", reference - model)):
        if only:
            shown = ", ".join(map(repr, list(only)[:_MOST_SHOWN]))
            yield f"{only.total()} {what} by the {who} only: {shown}"


def _described(answer: Prediction | Rejection | Unsupported) -> str:
    if isinstance(answer, Prediction):
        return "a result"
    return answer.error_class if isinstance(answer, Rejection) else f"no answer: {answer.reason}"
