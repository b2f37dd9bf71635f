"""Hypotheses that no other statement explains: an engine miscounts or does not log right rows, loses or repeats rows.

They are read off the difference of the answers, without another evaluation.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.rows import unmatched_rows
from mergecheck.harness.verdict import Check
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Feed, Outcome, Prediction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.trace import Effects

_MOST_OFF = 3
_COUNTED = frozenset({Check.METRICS, Check.RESULT})
_KINDS = {
    "insert": "inserted rows",
    "update_preimage": "the rows before an update",
    "update_postimage": "the rows after an update",
    "delete": "deleted rows",
}


def answer_hypotheses(report: CaseReport, differing: frozenset[Check]) -> tuple[str, ...]:
    """Return what explains an answer that is wrong in one observable only; nothing for any other.

    Args:
        report: the check of the case.
        differing: the observables that differ from the reference.
    """
    answer, result = report.reference.answer, report.result
    if not isinstance(answer, Prediction) or not isinstance(result, Outcome) or answer.schema != result.schema:
        return ()
    wanted, found = answer.rows, result.rows
    missing, extra = unmatched_rows(wanted, found, wanted_schema=answer.schema, found_schema=result.schema)
    if missing or extra:
        effects = report.reference.trace.effects
        if effects is None or (missing and extra) or differing != {Check.ROWS}:
            return ()
        kinds = _kinds_of(effects)
        lost = [one.row for one in missing] or [one.row for one in extra]
        return tuple(_of_rows(lost, kinds, answer.schema, verb="lost" if missing else "written twice"))
    if differing == {Check.CDF}:
        return tuple(_of_changes(answer, result))
    return tuple(_of_counts(answer, result)) if differing <= _COUNTED else ()


def _kinds_of(effects: Effects) -> dict[str, Sequence[Row]]:
    return {
        "inserted rows": tuple(effects.inserted.values()),
        "updated rows": tuple(effects.updated.values()),
        "rows that no clause changes": tuple(effects.unchanged.values()),
    }


def _of_rows(rows: Sequence[Row], kinds: dict[str, Sequence[Row]], schema: Schema, *, verb: str) -> Iterator[str]:
    """Name the only kind of row that all lost, or all repeated, rows can be of."""
    held = {name: {row_identity(row, schema) for row in kind} for name, kind in kinds.items()}
    wrong = {row_identity(row, schema) for row in rows}
    names = [name for name, identities in held.items() if wrong <= identities]
    if len(names) == 1:
        yield f"as if {names[0]} were {verb}"


def _of_changes(answer: Prediction, result: Outcome) -> Iterator[str]:
    if answer.cdf is None or result.cdf is None or result.feed is not Feed.IMAGES:
        return
    schema = change_schema(answer.schema)
    missing, extra = unmatched_rows(answer.cdf, result.cdf, wanted_schema=schema, found_schema=schema)
    if missing and not extra:
        lost = Counter(one.row[-1] for one in missing)
        if not result.cdf and len(lost) > 1:
            yield "as if the change feed had no rows"
        elif len(lost) == 1:
            yield f"as if the change feed lacked {_KINDS[str(next(iter(lost)))]}"
    elif extra and not missing:
        more = Counter(str(one.row[-1]) for one in extra)
        if len(more) == 1:
            yield f"as if the change feed had {_KINDS[next(iter(more))]} twice, or of other rows"


def _of_counts(answer: Prediction, result: Outcome) -> Iterator[str]:
    """Name the one metric that is wrong, if all differences are of metrics."""
    off = {
        name: result.metrics[name] - bound.low
        for name, bound in answer.metrics.items()
        if bound.exact and name in result.metrics and result.metrics[name] != bound.low
    }
    if len(off) == 1:
        name, number = next(iter(off.items()))
        if abs(number) <= _MOST_OFF:
            yield f"as if {name} counted {abs(number)} too {'many' if number > 0 else 'few'}"
        else:
            yield f"as if {name} counted too {'many' if number > 0 else 'few'}"
