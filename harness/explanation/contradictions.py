"""Hypotheses and reasons for an answer that contradicts itself: table, counts and change feed of one merge disagree.

No reference is needed. A fault is named by the smallest change of the answer after which it contradicts itself no more,
or less: other changes in the feed, other rows in the table, or another count.
"""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.counting_invariants import COPIED, DELETED, INSERTED, UPDATED
from mergecheck.harness.compare.feed_balance import REMOVING, feed_balance
from mergecheck.harness.compare.invariants import count_mismatches, invariant_mismatches
from mergecheck.harness.compare.log_invariants.commit_invariants import AGAINST
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.explanation.answer_hypotheses import AnswerHypothesis, RowKinds, difference_hypotheses
from mergecheck.harness.findings.fingerprint import primary_mismatch
from mergecheck.harness.specification.rules import load_rules
from mergecheck.harness.verdict import Check
from mergecheck.model.formatting import counted, row_text
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import Bound, Feed, MergePath, Outcome, Prediction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mergecheck.harness.compare.feed_balance import RowBalance
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case, Row

_MAX_ROWS = 4
_TOTALS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    INSERTED: ((), ("numOutputRows",)),
    UPDATED: ((), ("numOutputRows",)),
    COPIED: ((), ("numOutputRows",)),
    DELETED: ((),),
    "numOutputRows": ((),),
    "numSourceRows": ((),),
    "numTargetRowsMatchedUpdated": ((), (UPDATED,), (UPDATED, "numOutputRows")),
    "numTargetRowsNotMatchedBySourceUpdated": ((), (UPDATED,), (UPDATED, "numOutputRows")),
    "numTargetRowsMatchedDeleted": ((), (DELETED,)),
    "numTargetRowsNotMatchedBySourceDeleted": ((), (DELETED,)),
}
"""The counts of rows, each with the totals that may be wrong together with it (R-505)."""
_COUNTING = frozenset({"P-5", "P-6", "P-7", "P-8", "P-9", "P-10", "P-12", "P-13"})
"""The invariants over the rows of the table, the change feed, the counts and the records of files."""
_BROKEN = {
    "P-5": "as if rows were lost or written that no metric counts",
    "P-6": "as if a total were not the sum of its parts",
    "P-7": "as if rows were copied on a path that copies none, or copied twice",
    "P-8": "as if a row were counted more than once",
    "P-9": "as if there were a clause that the statement lacks",
    "P-10": "as if the metrics were not of the files that the commit adds and removes",
    "P-11": "as if statistics of new files were not taken from their rows",
    "P-12": "as if the change feed were of another merge than the table",
    "P-13": "as if the change feed were of another merge than the metrics",
    "R-222": "as if generated columns were not computed",
    "R-226": "as if identity columns had values that no sequence gives",
    "R-234": "as if evolution might do more than add columns and fields at the end",
    "R-235": "as if new columns and fields might be NOT NULL",
    "R-239": "as if a schema might change without a commit",
    "R-501": "as if the history had other metrics than the merge",
    "R-542": "as if times of phases were not parts of the time of the merge",
    "R-701": "as if the commit lacked actions that the protocol demands, or had more",
    "R-702": "as if the commit marked the wrong files as changes of data",
    "R-704": "as if a merge might change the definition of its table",
    "R-705": "as if rows did not keep their row ids",
    "R-714": "as if the commit had user metadata of its own",
    "R-715": "as if the marks of idempotent writes were not kept",
    "R-717": "as if actions of the commit might lack fields, or have unknown ones",
    "R-718": "as if partition values were written as other texts",
    "R-719": "as if new files might have another form than the protocol's",
    "R-722": "as if statistics of new files might be left out, or be of other columns",
    "R-723": "as if what stays in the table might be changed",
    "R-724": "as if row ids of new files might overlap",
    "R-730": "as if a merge might make several commits",
    "R-741": "as if NOT NULL were not checked",
    "R-742": "as if CHECK constraints were not checked",
    "R-746": "as if invariants of columns were not checked",
    "R-822": "as if lengths of texts were not checked",
    "row_ids": "as if rows did not keep their ids",
    "breakdown": "as if it broke down where it should refuse",
}
"""The fault that a broken invariant is a sign of, by the kind of its mismatch; parts of one share its entry."""


def contradiction_hypotheses(report: CaseReport) -> Iterator[AnswerHypothesis]:
    """Name the faults that make an answer contradict itself; at least one if an invariant is broken, and nothing else.

    Args:
        report: the check of the case.
    """
    broken = _broken(report)
    if not broken or len(broken) < len(report.mismatches):
        return
    checks = frozenset(one.check for one in report.mismatches)
    now = _now(report)
    others = [one for one in broken if one not in now]  # constraints on stored rows, failures of the engine
    is_named = False
    for wanted in _repairs(report):
        for text in _between(report, wanted):
            is_named = True
            yield AnswerHypothesis(text, checks - {check for check, _ in others})
    if not is_named:
        yield AnswerHypothesis(broken_hypothesis(primary_mismatch(report).kind), checks)


def broken_hypothesis(kind: str) -> str:
    """Name the fault that a broken invariant shows.

    Args:
        kind: the kind of the mismatch.
    """
    return _BROKEN[kind] if kind in _BROKEN else _BROKEN["-".join(kind.split("-")[:2])]


def contradiction_lines(report: CaseReport, *, width: int) -> list[str]:
    """Explain which rows and counts contradict each other; nothing if the reference shows what is wrong.

    Args:
        report: the check of the case.
        width: columns of a line.
    """
    broken = _broken(report)
    if not broken or (len(broken) < len(report.mismatches) and report.reference.trace.effects is not None):
        return []
    texts: list[str] = []
    if isinstance(result := report.result, Outcome):
        off = [one for one in feed_balance(report.case, result) or () if one.surplus or one.is_unheld]
        texts += [_row_story(one, result) for one in off[:_MAX_ROWS]]
        texts += [f"... {counted(len(off) - _MAX_ROWS, 'more row')}"] if len(off) > _MAX_ROWS else []
        metrics = [one for one in _repairs(report) if one.metrics != result.metrics]
        texts += [_count_story(result, wanted) for wanted in metrics[:1]]
        if not texts and any(kind in _COUNTING for _, kind in broken):
            texts.append(_evidence(report.case, result))
    others = [one for one in broken if one[1] not in _COUNTING]
    texts += [f"a rule does not hold: {title}" for title in _titles(others)]
    return [line for text in texts for line in textwrap.wrap(text, width, subsequent_indent="  ")]


def _broken(report: CaseReport) -> list[tuple[Check, str]]:
    return [(one.check, one.kind) for one in report.mismatches if one.against == AGAINST]


def _titles(broken: Sequence[tuple[Check, str]]) -> Iterator[str]:
    rules = load_rules()
    for number in dict.fromkeys(kind if kind in rules else "-".join(kind.split("-")[:2]) for _, kind in broken):
        yield f"{rules[number].title} ({number})" if number in rules else number.replace("_", " ")


def _row_story(one: RowBalance, result: Outcome) -> str:
    """Follow one row, or equal rows, through the table before, the change feed and the table after."""
    row = row_text(one.row, result.schema)
    numbers = ", ".join(str(place + 1) for place in one.before[:_MAX_ROWS])
    where = f"target {numbers} {row}" if one.before else row
    gone, new = len(one.before) - len(one.after), len(one.after) - len(one.before)
    if one.is_unheld:
        return f"the change feed removes {where} {_times(len(one.removals))}, more often than the table held it"
    if one.surplus > 0 and len(one.removals) < gone:
        return f"{where} is gone from the table, but no change row removes it"
    if one.surplus > 0:
        return f"the change feed adds {where} {_times(len(one.additions))}, but the table does not hold it so often"
    if len(one.additions) < new:
        return f"{where} is new in the table, but no change row adds it"
    return f"the change feed removes {where} {_times(len(one.removals))}, but the table still holds it"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _count_story(result: Outcome, wanted: Outcome) -> str:
    others = [name for name in result.metrics if wanted.metrics[name] != result.metrics[name]]
    texts = [f"{name} {wanted.metrics[name]}" for name in others]
    return f"table, change feed and the other counts agree with {', '.join(texts)}"


def _evidence(case: Case, result: Outcome) -> str:
    texts = [f"{counted(len(physical_rows(case.target)), 'row')} before, {len(result.rows)} after"]
    if result.cdf is not None:
        counts = Counter(str(row[-1]) for row in result.cdf)
        texts.append(f"change feed: {', '.join(f'{n} {name}' for name, n in counts.items()) or 'no rows'}")
    metrics = [f"{name} {value}" for name, value in sorted(result.metrics.items()) if name in _TOTALS and value]
    texts.append(f"metrics: {', '.join(metrics) or 'all counts of rows are 0'}")
    return "; ".join(texts)


def _invariants(report: CaseReport, outcome: Outcome) -> Counter[tuple[Check, str]]:
    """Count the invariants that an answer breaks which has other rows, changes or counts than the engine's."""
    found = invariant_mismatches(report.case, outcome, report.facts.clauses_present)
    return Counter((one.check, one.kind) for one in found)


def _now(report: CaseReport) -> Counter[tuple[Check, str]]:
    return _invariants(report, report.result) if isinstance(report.result, Outcome) else Counter()


def _repairs(report: CaseReport) -> Iterator[Outcome]:
    """Yield other answers in which table, counts and change feed agree, the least change first.

    Of several counts that may be wrong none is yielded.
    """
    result = report.result
    kinds = {kind for _, kind in _broken(report)}
    if not isinstance(result, Outcome) or not kinds & _COUNTING:
        return
    now = _now(report)
    balance = feed_balance(report.case, result)
    for wanted in itertools.chain(
        () if balance is None else _other_feeds(result, balance),
        () if balance is None else _other_tables(result, balance),
        () if kinds == {"P-5"} else _other_counts(report, result),  # it may be a fault of the table as well
    ):
        left = _invariants(report, wanted)
        if left < now and not any(kind in _COUNTING for _, kind in left):
            yield wanted


def _other_feeds(result: Outcome, balance: Sequence[RowBalance]) -> Iterator[Outcome]:
    """Add the rows that the feed lacks, take out those that it has too often, or do both for one type of change."""
    if result.cdf is None or result.feed is not Feed.IMAGES:
        return
    gone = [row for one in balance for row in [one.row] * max(one.surplus, 0)]
    new = [row for one in balance for row in [one.row] * max(-one.surplus, 0)]
    yield from _other_types(result)
    if not gone and not new:
        return
    types = Counter(row[-1] for row in result.cdf)
    updated = result.metrics.get(UPDATED, max(types["update_preimage"], types["update_postimage"]))
    old, new_ones = (max(updated - types[f"update_{image}image"], 0) for image in ("pre", "post"))
    lacking = (
        *((*row, "update_preimage" if place < old else "delete") for place, row in enumerate(gone)),
        *((*row, "update_postimage" if place < new_ones else "insert") for place, row in enumerate(new)),
    )
    yield replace(result, cdf=(*result.cdf, *lacking))
    superfluous = {
        place
        for one in balance
        for place in (one.additions[: max(one.surplus, 0)] + one.removals[: max(-one.surplus, 0)])
    }
    kept = tuple(row for place, row in enumerate(result.cdf) if place not in superfluous)
    if len(superfluous) == len(gone) + len(new):
        yield replace(result, cdf=kept)
    wrong = {result.cdf[place][-1] for place in superfluous}
    if len(wrong) == 1 and (kind := wrong.pop()):
        lacking = tuple((*row, kind) for row in (gone if kind in REMOVING else new))
        if len(lacking) == len(superfluous):
            yield replace(result, cdf=(*kept, *lacking))


def _other_types(result: Outcome) -> Iterator[Outcome]:
    """Call updates deletes and inserts, or these updates, as often as they are counted, or swap the rows of updates."""
    feed = result.cdf or ()
    old, new = "update_preimage", "update_postimage"
    lacking = result.metrics.get(UPDATED, 0) - sum(row[-1] == old for row in feed)
    if lacking > 0:
        yield replace(result, cdf=_renamed(feed, {"delete": old, "insert": new}, most=lacking))
    elif lacking < 0:
        yield replace(result, cdf=_renamed(feed, {old: "delete", new: "insert"}, most=-lacking))
    yield replace(result, cdf=_renamed(feed, {old: new, new: old}, most=len(feed)))


def _renamed(feed: Sequence[Row], names: Mapping[str, str], *, most: int) -> tuple[Row, ...]:
    """Give changes other types, of each type so many at most."""
    left, rows = dict.fromkeys(names, most), []
    for *row, kind in feed:
        is_meant = left.get(str(kind), 0) > 0
        left[str(kind)] = left.get(str(kind), 0) - 1
        rows.append((*row, names[str(kind)] if is_meant else kind))
    return tuple(rows)


def _other_tables(result: Outcome, balance: Sequence[RowBalance]) -> Iterator[Outcome]:
    """Give the table that the change feed makes of the one before, and the files that hold it."""
    if any(one.is_unheld for one in balance):
        return
    rows = tuple(row for one in balance for row in [one.row] * (len(one.after) + one.surplus))
    more = len(rows) - len(result.rows)
    if isinstance(result, TableOutcome):
        yield replace(result, rows=rows, num_records_added=result.num_records_added + more)
    yield replace(result, rows=rows)


def _other_counts(report: CaseReport, result: Outcome) -> Iterator[Outcome]:
    """Change one count, and the totals that it is part of, by the least that mends most; nothing if several do."""
    before, after, present = len(physical_rows(report.case.target)), len(result.rows), report.facts.clauses_present
    numbers = {0, before, after, *(result.metrics[name] for name in _TOTALS if name in result.metrics)}
    numbers |= set(Counter(row[-1] for row in result.cdf or ()).values())
    if isinstance(result, TableOutcome):
        numbers |= {result.num_records_added, result.num_records_removed}
    amounts = sorted({one - other for one in numbers for other in numbers} - {0}, key=lambda n: (abs(n), n))
    chains = [(name, *chain) for name, chains in _TOTALS.items() for chain in chains]
    mended: list[tuple[int, int, str, Outcome]] = []
    for names in (names for names in chains if result.metrics.keys() >= set(names)):
        for amount in amounts:
            metrics = {**result.metrics, **{one: result.metrics[one] + amount for one in names}}
            if min(metrics[one] for one in names) >= 0:
                wanted = replace(result, metrics=metrics)
                left = sum(1 for _ in count_mismatches(report.case, wanted, present, before=before))
                mended.append((left, len(names), names[0], wanted))
    fewest = min((one[:2] for one in mended), default=None)
    best = [one for one in mended if one[:2] == fewest]
    if len({name for *_, name, _ in best}) == 1:
        yield best[0][-1]


def _between(report: CaseReport, wanted: Outcome) -> Iterator[str]:
    """Name the fault that makes the engine's answer of a consistent one, as if that were the reference's."""
    result = report.result
    if not isinstance(result, Outcome):
        return
    answer = Prediction(
        schema=wanted.schema,
        rows=wanted.rows,
        metrics={name: Bound(value, value) for name, value in wanted.metrics.items()},
        cdf=wanted.cdf,
        committed=True,
        path=wanted.path or MergePath.D,
    )
    differing = {
        Check.ROWS: wanted.rows != result.rows,
        Check.CDF: wanted.cdf != result.cdf,
        Check.METRICS: wanted.metrics != result.metrics,
    }
    for given in difference_hypotheses(
        answer,
        result,
        frozenset(check for check, differs in differing.items() if differs),
        kinds=_row_kinds(report.case, result),
        target=report.case.target,
    ):
        yield given.text


def _row_kinds(case: Case, result: Outcome) -> RowKinds | None:
    """Read off the change feed what became of the rows."""
    balance = feed_balance(case, result)
    if balance is None or result.cdf is None or result.feed is not Feed.IMAGES:
        return None
    by_type: dict[str, list[Row]] = {}
    for row in result.cdf:
        by_type.setdefault(str(row[-1]), []).append(row[:-1])
    left = (max(len(one.before) - len(one.removals), 0) for one in balance)
    return RowKinds(
        inserted=tuple(by_type.get("insert", ())),
        updated=tuple(by_type.get("update_postimage", ())),
        unchanged=tuple(one.row for one, number in zip(balance, left, strict=True) if number),
        changed=tuple(row for kind in REMOVING for row in by_type.get(kind, ())),
        deleted=tuple(by_type.get("delete", ())),
    )
