"""Majority vote per check over several engines' answers to one case; the reference is one of the parties.

A party without an answer to a check has no vote on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.answers.rejections import same_error_class
from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.compare.schema import schema_mismatches
from mergecheck.harness.verdict import LEFT_OUT, Check
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Bound, Outcome, Prediction, Rejection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.harness.engine import Capabilities
    from mergecheck.harness.verdict import CaseReport

REFERENCE = "the reference"
_ROW_METRICS = ("numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """The parties' answers to one check.

    Attributes:
        groups: names of parties with the same answer, the largest group first.
    """

    check: Check
    groups: tuple[tuple[str, ...], ...]

    @property
    def odd(self) -> tuple[str, ...]:
        """The parties that more than half of all contradict; empty if all agree or there is no majority."""
        total = sum(map(len, self.groups))
        if len(self.groups) < 2 or 2 * len(self.groups[0]) <= total:  # noqa: PLR2004 - two opinions, more than half
            return ()
        return tuple(name for group in self.groups[1:] for name in group)

    @property
    def text(self) -> str:
        """Describe the vote for a person."""
        if len(self.groups) == 1:
            return "all agree"
        if not self.odd:
            return "no majority: " + " | ".join(", ".join(group) for group in self.groups)
        word = "odd one out" if len(self.odd) == 1 else "odd ones out"
        return f"{word}: {', '.join(self.odd)} ({', '.join(self.groups[0])} agree)"


@dataclass(frozen=True, slots=True)
class _Party:
    name: str
    answer: Outcome | Prediction | Rejection
    capabilities: Capabilities | None  # None: the reference, which has an answer to everything
    contradicts: frozenset[Check] | None = None
    """The checks in which an engine was found to differ from the reference; None if it was not compared with it."""
    left_out: frozenset[str] = frozenset()
    """The checks that ``--check`` leaves out."""


def votes(
    reports: Sequence[CaseReport], capabilities: Sequence[Capabilities], *, min_parties: int = 3
) -> tuple[Vote, ...]:
    """Compare the answers of several engines to one case, and the reference's, with each other.

    An engine's own comparison with the reference decides whether the two answers are the same. So whatever the
    reference
    allows is one answer, and a vote never contradicts a verdict.

    Args:
        reports: one per engine, of the same case.
        capabilities: of the engines, in the same order.
        min_parties: how many must have an answer to a check; two can only contradict each other.

    Returns:
        One vote per check.
    """
    parties = [
        _Party(
            _name_in(reports, report),
            report.result,
            able,
            frozenset(mismatch.check for mismatch in report.mismatches) if report.is_judged else None,
            frozenset(name for name, reason in report.unsupported_reasons.items() if reason == LEFT_OUT),
        )
        for report, able in zip(reports, capabilities, strict=True)
        if isinstance(report.result, Outcome | Rejection)
    ]
    answer = reports[0].reference.answer
    if isinstance(answer, Prediction | Rejection):
        parties.insert(0, _Party(REFERENCE, answer, None))
    found = [_vote(check, parties, able, same, min_parties) for check, able, same in _CHECKS]
    return tuple(vote for vote in found if vote is not None)


def silent_lines(reports: Sequence[CaseReport]) -> list[str]:
    """Show the engines that gave no answer, and so have no vote."""
    silent = [report for report in reports if not isinstance(report.result, Outcome | Rejection)]
    return [f"{'no vote':<11}{_name_in(reports, report)} ({report.verdict.value})" for report in silent]


def _name_in(reports: Sequence[CaseReport], report: CaseReport) -> str:
    """Name an engine; one that shares its name with another by what started it."""
    is_alone = sum(other.engine == report.engine for other in reports) == 1
    return report.engine if is_alone else report.rerun.engine or report.engine


def odd_lines(found: Sequence[Vote]) -> list[str]:
    """Show the votes in which a party differs."""
    return [f"{vote.check.value:<11}{vote.text}" for vote in found if len(vote.groups) > 1]


def odd_json(found: Sequence[Vote]) -> dict[str, Any]:
    """Return the votes as JSON: by check, the groups with the same answer, and the odd one."""
    return {vote.check.value: {"groups": [list(g) for g in vote.groups], "odd": list(vote.odd)} for vote in found}


def _vote(
    check: Check,
    parties: Sequence[_Party],
    able: Callable[[_Party], bool],
    same: Callable[[_Party, _Party], bool],
    min_parties: int,
) -> Vote | None:
    if any(check.value in party.left_out for party in parties):
        return None
    voters = [party for party in parties if able(party)]
    if len(voters) < min_parties:
        return None
    groups: list[list[_Party]] = []
    for party in voters:
        home = next((group for group in groups if all(_agree(check, party, one, same) for one in group)), None)
        if home is None:
            groups.append([party])
        else:
            home.append(party)
    groups.sort(key=len, reverse=True)
    return Vote(check=check, groups=tuple(tuple(party.name for party in group) for group in groups))


def _agree(check: Check, left: _Party, right: _Party, same: Callable[[_Party, _Party], bool]) -> bool:
    """Return whether two parties give the same answer; their comparisons with the reference take precedence."""
    said = [check in party.contradicts for party in (left, right) if party.contradicts is not None]
    if REFERENCE in (left.name, right.name) and said:
        return not said[0]
    if len(said) == 2 and not all(said):  # noqa: PLR2004 - both were compared with the reference
        return not any(said)
    return same(left, right)


def _has_classes(party: _Party) -> bool:
    return party.capabilities is None or party.capabilities.error_class


def _same_end(left: _Party, right: _Party) -> bool:
    """Both merge, or both fail; with the same class if both have classes."""
    if not (isinstance(left.answer, Rejection) and isinstance(right.answer, Rejection)):
        return isinstance(left.answer, Rejection) == isinstance(right.answer, Rejection)
    if not (_has_classes(left) and _has_classes(right)):
        return True
    allowed = [{one.error_class, *one.other_classes} for one in (left.answer, right.answer)]
    return any(same_error_class(one, other) for one in allowed[0] for other in allowed[1])


def _merged(party: _Party) -> bool:
    return not isinstance(party.answer, Rejection)


def _can(name: str) -> Callable[[_Party], bool]:
    return lambda party: _merged(party) and (party.capabilities is None or bool(getattr(party.capabilities, name)))


def _same_schema(left: _Party, right: _Party) -> bool:
    one, other = _table(left), _table(right)
    return not schema_mismatches(one.schema, other.schema, against="", complete=True)


def _same_table(left: _Party, right: _Party) -> bool:
    one, other = _table(left), _table(right)
    return len(one.schema.columns) == len(other.schema.columns) and same_rows(one.rows, other.rows, one.schema)


def _same_feed(left: _Party, right: _Party) -> bool:
    one, other = _table(left), _table(right)
    if one.cdf is None or other.cdf is None:
        return one.cdf is other.cdf
    if len(one.schema.columns) != len(other.schema.columns):
        return False
    return same_rows(one.cdf, other.cdf, change_schema(one.schema))


def _same_metrics(left: _Party, right: _Party) -> bool:
    one, other = _table(left).metrics, _table(right).metrics
    return all(_value(one[name]) == _value(other[name]) for name in _ROW_METRICS if name in one and name in other)


def _value(metric: int | Bound) -> int | None:
    if isinstance(metric, Bound):
        return metric.low if metric.exact else None
    return metric


def _table(party: _Party) -> Outcome | Prediction:
    assert not isinstance(party.answer, Rejection)  # noqa: S101 - only those that merged vote on tables
    return party.answer


_CHECKS: tuple[tuple[Check, Callable[[_Party], bool], Callable[[_Party, _Party], bool]], ...] = (
    (Check.ERROR, lambda party: True, _same_end),  # noqa: ARG005 - everybody ends in some way
    (Check.SCHEMA, _can("schema"), _same_schema),
    (Check.ROWS, _can("rows"), _same_table),
    (Check.CDF, _can("cdf"), _same_feed),
    (Check.METRICS, _can("metrics"), _same_metrics),
)
