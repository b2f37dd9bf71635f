"""Hypotheses that no other statement explains: an engine miscounts or does not log right rows, loses or repeats rows.

They are read off the difference of the answers, without another evaluation.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.compare.answers.rejections import same_error_class
from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.log_invariants.identity_invariants import settle_ids
from mergecheck.harness.compare.rows import unmatched_rows
from mergecheck.harness.verdict import Check
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Feed, Outcome, Prediction, Rejection
from mergecheck.reference.dialects import MULTI_MATCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.harness.compare.rows import UnmatchedRow
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Row, Target
    from mergecheck.model.outcome import EngineResult
    from mergecheck.reference.trace import Effects

_MOST_OFF = 3
_MOST_PAIRED = 50  # pairing is quadratic
_COUNTED = frozenset({Check.METRICS, Check.RESULT})
_SUMS = {
    "numOutputRows": ("numTargetRowsCopied", "numTargetRowsInserted", "numTargetRowsUpdated"),
    "numTargetRowsUpdated": ("numTargetRowsMatchedUpdated", "numTargetRowsNotMatchedBySourceUpdated"),
    "numTargetRowsDeleted": ("numTargetRowsMatchedDeleted", "numTargetRowsNotMatchedBySourceDeleted"),
}
"""Metrics that are sums of others (R-505)."""
_KINDS = {
    "insert": "inserted rows",
    "update_preimage": "the rows before an update",
    "update_postimage": "the rows after an update",
    "delete": "deleted rows",
}


@dataclass(frozen=True, slots=True)
class AnswerHypothesis:
    """The traces of a fault in an answer.

    Attributes:
        text: such as ``as if inserted rows were lost``.
        explains: the observables whose difference it explains.
    """

    text: str
    explains: frozenset[Check]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowKinds:
    """The rows of a merge by what became of them.

    Attributes:
        inserted: new rows without a row of before.
        updated: new rows in place of others.
        unchanged: rows that stay.
        changed: rows of before that are not unchanged.
        deleted: rows of before without a new one.
    """

    inserted: tuple[Row, ...]
    updated: tuple[Row, ...]
    unchanged: tuple[Row, ...]
    changed: tuple[Row, ...]
    deleted: tuple[Row, ...]


def answer_hypotheses(report: CaseReport, differing: frozenset[Check]) -> Iterator[AnswerHypothesis]:
    """Yield what explains a wrong answer, the most specific first; nothing for most.

    Args:
        report: the check of the case.
        differing: the observables that differ from the reference.
    """
    answer, result = report.reference.answer, report.result
    if isinstance(answer, Rejection) and answer.error_class == MULTI_MATCH and _has_written(result):
        yield AnswerHypothesis("as if several matches of a row were no error", differing)
    elif isinstance(result, Rejection) and Check.UNCHANGED in differing:
        yield AnswerHypothesis("as if a merge that fails kept what it had written", differing)
    if not isinstance(answer, Prediction) or not isinstance(result, Outcome) or not _same_columns(answer, result):
        return
    answer = settle_ids(answer, result).prediction  # values that the engine generates are its own
    if differing <= {Check.CDF, *_COUNTED} and _counts_every_match(report, answer, result):
        yield AnswerHypothesis("as if a row were deleted once for each of its matches", differing)
    kinds = None if report.reference.trace.effects is None else _kinds_of(report.reference.trace.effects)
    yield from difference_hypotheses(answer, result, differing, kinds=kinds, target=report.case.target)


def difference_hypotheses(
    answer: Prediction, result: Outcome, differing: frozenset[Check], *, kinds: RowKinds | None, target: Target
) -> Iterator[AnswerHypothesis]:
    """Name the fault that makes an engine's answer of another one.

    Args:
        answer: the right answer.
        result: the engine's.
        differing: the observables that differ.
        kinds: the rows by what became of them, if that is known.
        target: the table before the merge.
    """
    missing, extra = unmatched_rows(answer.rows, result.rows, wanted_schema=answer.schema, found_schema=result.schema)
    if missing or extra:
        explained = {Check.ROWS}
        if _counts_follow(answer, result, most=max(len(missing), len(extra))):
            explained |= _COUNTED
        for text in () if kinds is None else _of_rows(kinds, target, answer, missing, extra):
            yield AnswerHypothesis(text, differing & explained)
        return
    if differing == {Check.CDF}:
        yield from (AnswerHypothesis(text, differing) for text in _of_changes(answer, result))
    if differing <= _COUNTED:
        yield from (AnswerHypothesis(text, differing) for text in _of_counts(answer, result))


def _has_written(result: EngineResult | None) -> bool:
    """Return whether a merge went past the check of several matches: it may fail later, on its own files or counts."""
    if isinstance(result, Rejection):
        return result.unchanged is False and not same_error_class(result.error_class, MULTI_MATCH)
    return isinstance(result, Outcome)


def _kinds_of(effects: Effects) -> RowKinds:
    return RowKinds(
        inserted=tuple(effects.inserted.values()),
        updated=tuple(effects.updated.values()),
        unchanged=tuple(effects.unchanged.values()),
        changed=tuple(row for rid, row in enumerate(effects.old) if rid not in effects.unchanged),
        deleted=tuple(effects.old[rid] for rid in effects.deleted),
    )


def _same_columns(answer: Prediction, result: Outcome) -> bool:
    """Compare names and types; an identity column's mark is another after each merge."""
    wanted, found = ([(one.name, one.type) for one in each.schema.columns] for each in (answer, result))
    return wanted == found


def _of_rows(
    kinds: RowKinds, target: Target, answer: Prediction, missing: Sequence[UnmatchedRow], extra: Sequence[UnmatchedRow]
) -> Iterator[str]:
    """Name the only kind of row that all lost, repeated or kept rows can be of, or the column that is wrong."""
    lost, found = ({one.identity for one in rows} for rows in (missing, extra))
    held = {
        name: {row_identity(row, answer.schema) for row in rows}
        for name, rows in {
            "inserted rows": kinds.inserted,
            "updated rows": kinds.updated,
            "rows that no clause changes": kinds.unchanged,
        }.items()
    }
    before, deleted = ({row_identity(row, answer.schema) for row in rows} for rows in (kinds.changed, kinds.deleted))
    if missing and extra:
        if lost <= held["rows that no clause changes"] and found <= before:
            yield "as if changed rows were copied in place of rows that no clause changes"
        yield from _of_columns(target, answer, missing, extra)
        return
    verb = "lost" if missing else "written twice"
    names = [name for name, identities in held.items() if (lost or found) <= identities]
    if found and found <= deleted:
        yield "as if deleted rows were kept"
    elif found and found <= before:
        yield "as if the old rows were kept beside the new ones"
    elif len(names) == 1:
        yield f"as if {names[0]} were {verb}"


def _of_columns(
    target: Target, answer: Prediction, missing: Sequence[UnmatchedRow], extra: Sequence[UnmatchedRow]
) -> Iterator[str]:
    """Name the only column in which rows differ, if it has the values of other rows."""
    generated = frozenset(answer.generated_ids.columns) if answer.generated_ids is not None else frozenset[int]()
    pairs = _other_in_one_cell(missing, extra, generated)
    places = {place for place, _ in pairs}
    if len(places) != 1:
        return
    place = places.pop()
    column = answer.schema.columns[place]
    others = {row_identity(row, answer.schema)[place] for row in answer.rows}
    if all(extra_one.identity[place] in others for _, extra_one in pairs):
        is_folder = column.name.lower() in {name.lower() for name in target.partition_by}
        what = f"the partition column {column.name}" if is_folder else column.name
        yield f"as if {what} had the value of another row"


def _other_in_one_cell(
    missing: Sequence[UnmatchedRow], extra: Sequence[UnmatchedRow], generated: frozenset[int]
) -> list[tuple[int, UnmatchedRow]]:
    """Pair each missing row with another that differs in one cell, and give that cell; none unless all are paired.

    Cells of ``generated`` columns are the engine's own, and do not count.
    """
    if len(missing) != len(extra) or len(missing) > _MOST_PAIRED:
        return []
    left, pairs = list(extra), []
    for one in missing:
        for other in left:
            both = enumerate(zip(one.identity, other.identity, strict=True))
            cells = [i for i, (a, b) in both if a != b and i not in generated]
            if len(cells) == 1:
                left.remove(other)
                pairs.append((cells[0], other))
                break
        else:
            return []
    return pairs


def _counts_follow(answer: Prediction, result: Outcome, *, most: int) -> bool:
    """Return whether the counts of rows are off by no more than the rows are."""
    return all(abs(number) <= most for name, number in _off(answer, result).items() if "Rows" in name)


def _counts_every_match(report: CaseReport, answer: Prediction, result: Outcome) -> bool:
    """Return whether deleted rows are counted, or in the change feed, as often as they are matched."""
    matches, effects = report.reference.trace.matches, report.reference.trace.effects
    if matches is None or effects is None:
        return False
    surplus = sum(rid in effects.deleted for _, rid in matches.pairs) - len(
        effects.deleted & {rid for _, rid in matches.pairs}
    )
    more = len(result.cdf or ()) - len(answer.cdf or ()) if result.feed is Feed.IMAGES and result.cdf else 0
    counted = _off(answer, result).get("numTargetRowsDeleted", 0)
    return surplus > 0 and surplus in (more, counted) and {more, counted} <= {0, surplus}


def _off(answer: Prediction, result: Outcome) -> dict[str, int]:
    """Return by how much each metric is off that is known exactly."""
    return {
        name: result.metrics[name] - bound.low
        for name, bound in answer.metrics.items()
        if bound.exact and name in result.metrics and result.metrics[name] != bound.low
    }


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
    elif len(kinds := {str(one.row[-1]) for one in (*missing, *extra)}) == 1:
        yield f"as if {_KINDS[kinds.pop()]} had other values in the change feed"
    elif missing and Counter(one.identity[:-1] for one in missing) == Counter(one.identity[:-1] for one in extra):
        wanted, found = (sorted({str(one.row[-1]) for one in rows}) for rows in (missing, extra))
        if wanted == found:
            yield f"as if {' and '.join(wanted)} were swapped in the change feed"
        else:
            yield f"as if the change feed had {' and '.join(wanted)} as {' and '.join(found)}"


def _of_counts(answer: Prediction, result: Outcome) -> Iterator[str]:
    """Name the one metric that is wrong, if all differences are of metrics, and of sums that it is a part of."""
    off = _off(answer, result)
    for total, parts in _SUMS.items():
        if total in off and off[total] == sum(off.get(part, 0) for part in parts):
            del off[total]
    if len(off) != 1:
        return
    name, number = next(iter(off.items()))
    hypotheses = [f"as if {name} counted each row twice"] if number == answer.metrics[name].low else []
    amount = f"{abs(number)} too" if abs(number) <= _MOST_OFF else "too"
    hypotheses.append(f"as if {name} counted {amount} {'many' if number > 0 else 'few'}")
    yield from reversed(hypotheses) if number == 1 else hypotheses
