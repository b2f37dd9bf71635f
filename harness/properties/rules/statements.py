"""Parts 0 and 1: inputs, the statement, names, validation."""

from __future__ import annotations

from itertools import pairwise

from sqlglot import exp

from mergecheck.harness.properties.matches import sorts_of_matches
from mergecheck.harness.properties.rules.evidence import Evidence, Rule
from mergecheck.reference.expressions.names import LITERAL_FUNCTIONS
from mergecheck.reference.syntax.statement import Kind

_MANY_CLAUSES = 4
_PYTHON_API = "a case holds SQL text; the builder's own rules have tests of their own"
_INTERNAL = "internal form of a statement, nothing that an outcome shows; documented by the spec tests"
_REWRITTEN = (
    "INTERNAL_ERROR",
    "INVALID_USAGE_OF_STAR_OR_REGEX",
    "MISSING_WINDOW_SPECIFICATION",
    "UNBOUND_SQL_PARAMETER",
    "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE",
)
_OPERATORS = ("UNSUPPORTED_EXPR_FOR_OPERATOR", "UNSUPPORTED_GENERATOR")


def _has_equal_rows(e: Evidence) -> bool:
    source = e.reference.trace.source
    return e.prediction is not None and any(
        len(set(map(repr, rows))) < len(rows) for rows in (e.case.target.rows, () if source is None else source.rows)
    )


def _interleaves(e: Evidence) -> bool:
    order = [list(Kind).index(clause.kind) for clause in e.written()]
    return any(left > right for left, right in pairwise(order))


def _assigns_what_it_reads(e: Evidence) -> bool:
    """Look for an UPDATE whose values read a target column that it assigns."""
    for clause in e.written(Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE):
        assigned = [a.path[-1].lower() for a in clause.assignments]
        read = {column.name.lower() for a in clause.assignments for column in a.value.find_all(exp.Column)}
        if any(name in read for name in assigned):
            return e.prediction is not None
    return False


def _qualifies_left_side(e: Evidence) -> bool:
    if e.statement is None or e.prediction is None:
        return False
    alias = e.statement.target_alias or e.statement.target
    return any(e.same(a.path[0], alias) and len(a.path) > 1 for clause in e.written() for a in clause.assignments)


def _spells_otherwise(e: Evidence) -> bool:
    """Look for a name that is spelled in other letters than the column or field that it means."""
    if e.source_schema is None or e.merge is None:
        return False
    both = (e.case.target.schema.names, e.source_schema.names)
    crossed = any(a != b and a.lower() == b.lower() for a in both[0] for b in both[1])
    known = {*both[0], *both[1]}
    folded = {name.lower() for name in known}
    written = any(part not in known and part.lower() in folded for name in e.names() for part in name)
    return crossed or written


def _value_is_free(e: Evidence) -> bool:
    return any(value.find(exp.AggFunc, exp.Window, exp.Query) is not None for value in e.values())


def _bad_operator_in_condition(e: Evidence) -> bool:
    return e.rejected(*_OPERATORS) and not _value_is_free(e)


def _has_column_like_function(e: Evidence) -> bool:
    return any(name.lower() in LITERAL_FUNCTIONS for schema in e.case.relations.values() for name in schema.names)


def _mentions(e: Evidence, *names: str) -> bool:
    text = e.case.sql.lower()
    return e.prediction is not None and any(name in text for name in names)


RULES = (
    Rule(number="R-001", reached=lambda e: e.statement is not None),
    Rule(number="R-002", reached=_has_equal_rows),
    Rule(number="R-003", reached=lambda e: e.matches is not None and bool(e.matches.pairs)),
    Rule(
        number="R-004", reached=lambda e: bool(sorts_of_matches(e.reference.trace) & {"source alone", "target alone"})
    ),
    Rule(number="R-005", reached=lambda e: bool(e.resolved())),
    Rule(number="R-006", reached=lambda e: bool(e.resolved())),
    Rule(number="R-101", reached=lambda e: e.statement is not None),
    Rule(number="R-102", reached=_interleaves),
    Rule(number="R-103", out_of_reach=_PYTHON_API),
    Rule(number="R-104", out_of_reach=_PYTHON_API),
    Rule(number="R-105", out_of_reach=_PYTHON_API),
    Rule(number="R-106", reached=lambda e: e.rejected("MERGE_WITHOUT_WHEN", "DELTA_MERGE_MISSING_WHEN")),
    Rule(number="R-107", reached=lambda e: e.rejected("NON_LAST_")),
    Rule(number="R-108", reached=lambda e: e.rejected("MERGE_INSERT_VALUE_COUNT_MISMATCH")),
    Rule(number="R-109", reached=lambda e: any(len(e.resolved(kind)) >= _MANY_CLAUSES for kind in Kind)),
    Rule(
        number="R-110",
        out_of_reach="about the row that every merge returns, which is compared if the engine returns one",
    ),
    Rule(number="R-111", out_of_reach=_INTERNAL),
    Rule(number="R-112", out_of_reach=_INTERNAL),
    Rule(number="R-113", reached=lambda e: e.merge is None and e.rejected()),
    Rule(number="R-114", out_of_reach=_INTERNAL),
    Rule(
        number="R-115",
        reached=lambda e: any(
            c.condition is not None or c.values for c in e.resolved(Kind.NOT_MATCHED, Kind.NOT_MATCHED_BY_SOURCE)
        ),
    ),
    Rule(number="R-116", reached=_assigns_what_it_reads),
    Rule(number="R-117", reached=lambda e: e.rejected("DELTA_MERGE_UNRESOLVED_EXPRESSION", "FIELD_NOT_FOUND")),
    Rule(number="R-118", reached=lambda e: e.rejected("AMBIGUOUS_REFERENCE")),
    Rule(number="R-119", reached=_qualifies_left_side),
    Rule(number="R-120", reached=_spells_otherwise),
    Rule(number="R-121", out_of_reach="needs references of a DataFrame, not SQL text"),
    Rule(number="R-122", out_of_reach="needs references of a DataFrame"),
    Rule(number="R-123", reached=_has_column_like_function),
    Rule(number="R-130", reached=lambda e: e.rejected("DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED")),
    Rule(number="R-131", reached=lambda e: e.rejected("DELTA_AGGREGATION_NOT_SUPPORTED")),
    Rule(number="R-132", reached=_bad_operator_in_condition),
    Rule(number="R-133", reached=lambda e: e.rejected("DELTA_UNSUPPORTED_SUBQUERY")),
    Rule(number="R-134", reached=_value_is_free),
    Rule(
        number="R-135",
        reached=lambda e: e.rejected("JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
    ),
    Rule(
        number="R-136", reached=lambda e: _mentions(e, "current_timestamp", "now()", "current_date", "localtimestamp")
    ),
    Rule(number="R-137", reached=lambda e: e.rejected(*_REWRITTEN)),
    Rule(number="R-138", reached=lambda e: e.rejected("DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT")),
    Rule(number="R-139", reached=lambda e: e.statement is not None and bool(e.statement.travels)),
    Rule(number="R-140", out_of_reach="the target of a case is a Delta table"),
    Rule(number="R-141", reached=lambda e: not e.case.target.schema.columns and e.statement is not None),
    Rule(number="R-142", out_of_reach="needs another writer between analysis and execution"),
    Rule(number="R-143", out_of_reach="the source of a case is a batch"),
    Rule(number="R-144", reached=lambda e: e.rejected("DELTA_MERGE_ADD_VOID_COLUMN")),
)
