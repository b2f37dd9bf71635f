"""Signatures of mismatches: what two mismatches with one cause are likely to share.

The observed signature decides which mismatch of a known fingerprint is worth shrinking. The minimal signature decides
if the minimal case is a finding of its own. Neither proves a common cause.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.findings.fingerprint import Fingerprint, fingerprint, primary_mismatch
from mergecheck.harness.properties.merge_text import words_of
from mergecheck.harness.properties.vocabulary import has
from mergecheck.harness.verdict import Check
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.statement import parse_statement

if TYPE_CHECKING:
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case
    from mergecheck.reference.syntax.statement import Clause

_BY_KIND = frozenset(Check) - {Check.ROWS, Check.CDF}
_FAILS = frozenset({"spurious_error", "breakdown", "error_class"})
_TRAITS = ("partitions", "change-data-feed", "schema-evolution", "nested-types", "self-merge")
_TABLES = (
    *("empty-target", "empty-source", "transactions", "several-files", "target-layout", "source-layout"),
    "other-names",
)
_WORDS = frozenset({"update", "delete", "insert", "not", "by", "source", "and", "set", "*", "with"})
_NO_MEANING = (exp.Paren, exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedSignature:
    """How a mismatch shows in a case as it was drawn.

    Attributes:
        fingerprint: of the mismatch; of an error that breaks a refusal, as if it broke a merge.
        kinds: the kinds of difference of the observable that names the fault, such as missing and extra rows.
        fired: the clauses that acted on a row.
        traits: what else the fault may hang on.
    """

    fingerprint: Fingerprint
    kinds: frozenset[str]
    fired: frozenset[tuple[str, str]]
    traits: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimalSignature:
    """How a mismatch shows in a minimal case: the same statement, but for names and values, and the same difference."""

    fingerprint: Fingerprint
    kinds: frozenset[str]
    statement: tuple[object, ...]
    tables: frozenset[str]


def observed_signature(report: CaseReport) -> ObservedSignature | None:
    """Return the observed signature of a report, None if it has no fingerprint."""
    found = fingerprint(report)
    if found is None:
        return None
    return ObservedSignature(
        fingerprint=_as_failure(found),
        kinds=_kinds(report),
        fired=report.facts.clauses_applied,
        traits=_properties(report, _TRAITS),
    )


def minimal_signature(report: CaseReport) -> MinimalSignature | None:
    """Return the minimal signature of a report, None if it has no fingerprint."""
    found = fingerprint(report)
    if found is None:
        return None
    case = report.case
    properties = case.target.properties.keys() - {CDF_PROPERTY}
    return MinimalSignature(
        fingerprint=_as_failure(found),
        kinds=_kinds(report),
        statement=_statement(case),
        tables=frozenset((*_properties(report, (*_TRAITS, *_TABLES)), *case.conf, *properties)),
    )


def _as_failure(found: Fingerprint) -> Fingerprint:
    """Let an error be the same one whether the merge had to succeed or had to be refused in another way."""
    fails = found.check is Check.ERROR and found.kind in _FAILS and found.against == "reference"
    return replace(found, kind="spurious_error") if fails else found


def _kinds(report: CaseReport) -> frozenset[str]:
    first = primary_mismatch(report)
    if first.check in _BY_KIND:
        return frozenset()  # the fingerprint is enough
    same = (m for m in report.mismatches if m.check is first.check and m.against == first.against)
    return frozenset(m.kind for m in same)


def _properties(report: CaseReport, names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for name in names if has(report, name))


def _statement(case: Case) -> tuple[object, ...]:
    try:
        statement = parse_statement(case.sql)
    except (RejectedError, UnsupportedByReferenceError):
        return tuple(sorted(_WORDS & words_of(case.sql)))
    return (
        statement.source_query is not None,
        _operators(statement.on),
        *(_clause(clause) for clause in statement.clauses),
    )


def _clause(clause: Clause) -> tuple[object, ...]:
    values = frozenset(_operators(assignment.value) for assignment in clause.assignments)
    return (clause.kind, clause.action, clause.star, _operators(clause.condition), values)


def _operators(tree: exp.Expr | None) -> str:
    """Format the operators and functions of an expression, without the columns and values they work on."""
    if tree is None:
        return "none"
    names = [type(node).__name__ for node in tree.walk() if not isinstance(node, _NO_MEANING)]
    return " ".join(names)
