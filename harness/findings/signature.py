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
from mergecheck.harness.properties.source_tables import reads_target, source_table
from mergecheck.harness.verdict import Check
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.storage import SourceLayout, TargetLayout
from mergecheck.model.types.data_types import ArrayType, MapType, StructType
from mergecheck.reference.syntax.statement import parse_statement

if TYPE_CHECKING:
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case
    from mergecheck.reference.syntax.statement import Clause

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
_BY_KIND = frozenset(Check) - {Check.ROWS, Check.CDF}
_FAILS = frozenset({"spurious_error", "breakdown", "error_class"})
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
        traits=_traits(report.case),
    )


def minimal_signature(report: CaseReport) -> MinimalSignature | None:
    """Return the minimal signature of a report, None if it has no fingerprint."""
    found = fingerprint(report)
    if found is None:
        return None
    case = report.case
    return MinimalSignature(
        fingerprint=_as_failure(found),
        kinds=_kinds(report),
        statement=_statement(case),
        tables=_traits(case) | _tables(case),
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


def _traits(case: Case) -> frozenset[str]:
    columns = [column for schema in case.relations.values() for column in schema.columns]
    found = {
        "partitioned": bool(case.target.partition_by),
        "change data feed": case.target.change_data_feed,
        "evolution": evolves(case),
        "nested": any(isinstance(column.type, StructType | ArrayType | MapType) for column in columns),
        "self": reads_target(case),
    }
    return frozenset(name for name, holds in found.items() if holds)


def _tables(case: Case) -> frozenset[str]:
    source = source_table(case)
    found = {
        "no target row": not case.target.rows,
        "no source row": source is not None and not source.rows,
        "transactions": bool(case.target.transactions),
        "several files": len(case.target.files) > 1,
        "target layout": case.target.layout != TargetLayout(),
        "source layout": case.source is not None and case.source.layout != SourceLayout(),
        "names differ": source is not None and source.schema.names != case.target.schema.names,
    }
    properties = case.target.properties.keys() - {CDF_PROPERTY}
    return frozenset([name for name, holds in found.items() if holds]) | case.conf.keys() | properties


def evolves(case: Case) -> bool:
    """Return whether the statement or the session asks for schema evolution."""
    automatic = case.conf.get(AUTO_MERGE, "false").lower() == "true"
    return automatic or "WITH SCHEMA EVOLUTION" in " ".join(case.sql.upper().split())


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
