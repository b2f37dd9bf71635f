"""Predicates that select the cases a deviation applies to: a closed vocabulary over a case and its facts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mergecheck.harness.deviations.patterns import BadPatternError, pattern_of
from mergecheck.harness.findings.signature import AUTO_MERGE
from mergecheck.harness.properties.rule_counts import known_rules
from mergecheck.harness.properties.source_tables import reads_target, source_table
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.outcome import Rejection
from mergecheck.model.schema_json import is_constraint
from mergecheck.model.types.data_types import ArrayType, MapType, Schema, StructType
from mergecheck.reference.syntax.dialect import SparkDialect
from mergecheck.reference.syntax.statement import Action, Kind, parse_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.model.case import Case, Value
    from mergecheck.model.facts import Facts
    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.syntax.statement import Statement


class EvaluatedCase(Protocol):
    """A case and the reference's answer, from a report or elsewhere."""

    @property
    def case(self) -> Case:
        """The case."""

    @property
    def reference(self) -> Reference:
        """Its reference result."""

    @property
    def facts(self) -> Facts:
        """The facts that the case reached."""


class BadPredicateError(ValueError):
    """A word or a value that no predicate has; the message gives the allowed ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A condition on a case: every word must hold."""

    words: Mapping[str, Any]

    def holds(self, report: EvaluatedCase) -> bool:
        """Return whether the predicate selects a report's case."""
        return all(_WORDS[word].holds(value, report) for word, value in self.words.items())


@dataclass(frozen=True, slots=True)
class _Word:
    kind: type
    holds: Callable[[Any, EvaluatedCase], bool]
    is_pattern: bool = False


def parse_predicate(table: Mapping[str, Any]) -> Predicate:
    """Check the words of a predicate.

    Raises:
        BadPredicateError: for an unknown word, or a value of the wrong kind.
    """
    for word, value in table.items():
        if word not in _WORDS:
            raise BadPredicateError(word)
        _check_value(word, value)
    return Predicate(words=dict(table))


def _check_value(word: str, value: Any) -> None:  # noqa: ANN401 - any TOML value
    known = _WORDS[word]
    is_right_kind = type(value) is known.kind
    if not is_right_kind:
        raise BadPredicateError(f"{word} = {value!r} must be a {_KINDS[known.kind]}")
    if known.kind is list and not all(isinstance(item, str) for item in value):
        raise BadPredicateError(f"{word} = {value!r} must be a list of texts")
    if known.is_pattern:
        try:
            pattern_of(value)
        except BadPatternError as error:
            raise BadPredicateError(f"{word} = {value!r} is no regular expression: {error}") from error
    if known.kind is dict and not all(isinstance(item, str) for item in value.values()):
        raise BadPredicateError(f"{word} = {value!r} must give every name a text")
    if word == "reached_rules" and (unknown := set(value) - {r.number for r in known_rules()}):
        raise BadPredicateError(f"{word} has {sorted(unknown)}, which are no rules: see mergecheck lab rules")
    if word.endswith("clauses") and (unknown := set(value) - _CLAUSES):
        raise BadPredicateError(f"{word} has {sorted(unknown)}, allowed: {sorted(_CLAUSES)}")
    if word.endswith("kinds") and (unknown := set(value) - _KINDS_OF_CLAUSES):
        raise BadPredicateError(f"{word} has {sorted(unknown)}, allowed: {sorted(_KINDS_OF_CLAUSES)}")


_ANY = "*"
_KINDS_OF_CLAUSES = {kind.value for kind in Kind}
_KINDS = {bool: "boolean", str: "text", list: "list", dict: "table"}
_CLAUSES = {
    f"{kind.value}/{action.value}"
    for kind in Kind
    for action in Action
    if (action is Action.INSERT) == (kind is Kind.NOT_MATCHED)
}


def _statement(report: EvaluatedCase) -> Statement | None:
    read = report.reference.trace.statement
    if read is not None:
        return read
    try:
        return parse_statement(report.case.sql)
    except (RejectedError, UnsupportedByReferenceError):
        return None


def _clauses(report: EvaluatedCase) -> set[str]:
    statement = _statement(report)
    if statement is None:
        return set()
    return {f"{c.kind.value}/{c.action.value}" for c in statement.clauses}


def _kinds(report: EvaluatedCase) -> set[str]:
    return {clause.partition("/")[0] for clause in _clauses(report)}


def _is_sole_matched_delete(report: EvaluatedCase) -> bool:
    statement = _statement(report)
    matched = () if statement is None else statement.of(Kind.MATCHED)
    return len(matched) == 1 and matched[0].action is Action.DELETE and matched[0].condition is None


def _evolves(report: EvaluatedCase) -> bool:
    statement = _statement(report)
    conf = report.case.conf.get(AUTO_MERGE, "false")
    return (statement is not None and statement.schema_evolution) or conf.lower() == "true"


def _reference_class(pattern: str, report: EvaluatedCase) -> bool:
    answer = report.reference.answer
    return isinstance(answer, Rejection) and re.fullmatch(pattern, answer.error_class) is not None


def _found_settings(wanted: dict[str, str], given: Mapping[str, str]) -> list[bool]:
    """Return for each setting whether it has its value; ``*`` means any value, but the setting must be present."""
    return [name in given and (value == _ANY or given[name].lower() == value.lower()) for name, value in wanted.items()]


def _on(report: EvaluatedCase) -> str:
    statement = _statement(report)
    return "" if statement is None else statement.on.sql(dialect=SparkDialect)


def _fired(report: EvaluatedCase) -> set[str]:
    return {f"{kind}/{action}" for kind, action in report.facts.clauses_applied}


def _column_names(report: EvaluatedCase) -> list[str]:
    read = report.reference.trace.source
    names = [name for schema in report.case.relations.values() for name in schema.names]
    return [*names, *(read.schema.names if read is not None else ())]  # a query of the source may name its own


def _has_nested(kinds: tuple[type, ...], report: EvaluatedCase) -> bool:
    schemas = report.case.relations.values()
    return any(_contains(column.type, kinds) for schema in schemas for column in schema.columns)


def _has_null_struct(report: EvaluatedCase) -> bool:
    return any(
        _holds_null_struct(cell, column.type)
        for table in report.case.all_tables
        for row in table.rows
        for cell, column in zip(row, table.schema.columns, strict=True)
    )


def _holds_null_struct(value: Value, data_type: DataType) -> bool:
    if not isinstance(data_type, StructType):
        return False
    if value is None:
        return True
    return any(_holds_null_struct(part, field.type) for part, field in zip(value, data_type.fields, strict=True))


def _contains(data_type: DataType, kinds: tuple[type, ...]) -> bool:
    if isinstance(data_type, kinds):
        return True
    if isinstance(data_type, StructType):
        return any(_contains(field.type, kinds) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return _contains(data_type.element, kinds)
    return isinstance(data_type, MapType) and (_contains(data_type.key, kinds) or _contains(data_type.value, kinds))


def _type_names(pattern: str, report: EvaluatedCase) -> bool:
    return any(re.search(pattern, schema.ddl()) for schema in report.case.relations.values())


def _partition_columns(report: EvaluatedCase) -> list[str]:
    """Write each partition column as Spark DDL, such as ``name STRING NOT NULL``."""
    target = report.case.target
    return [Schema((column,)).ddl() for column in target.schema.columns if column.name in target.partition_by]


def _has_text(pattern: str, report: EvaluatedCase) -> bool:
    cells = (cell for table in report.case.all_tables for row in table.rows for cell in row)
    return any(isinstance(cell, str) and re.search(pattern, cell) for cell in cells)


def _has_no_source_row(report: EvaluatedCase) -> bool:
    read = report.reference.trace.source or source_table(report.case)
    return read is not None and not read.rows


_WORDS: Mapping[str, _Word] = {
    "clauses": _Word(list, lambda value, report: set(value) <= _clauses(report)),
    "no_clauses": _Word(list, lambda value, report: not set(value) & _clauses(report)),
    "kinds": _Word(list, lambda value, report: set(value) <= _kinds(report)),
    "only_kinds": _Word(list, lambda value, report: _kinds(report) <= set(value)),
    "fired_clauses": _Word(list, lambda value, report: set(value) <= _fired(report)),
    "no_fired_clauses": _Word(list, lambda value, report: not set(value) & _fired(report)),
    "sole_matched_delete": _Word(bool, lambda value, report: _is_sole_matched_delete(report) == value),
    "evolution": _Word(bool, lambda value, report: _evolves(report) == value),
    "change_data_feed": _Word(bool, lambda value, report: report.case.target.change_data_feed == value),
    "partitioned": _Word(bool, lambda value, report: bool(report.case.target.partition_by) == value),
    "self_merge": _Word(bool, lambda value, report: reads_target(report.case) == value),
    "null_structs": _Word(bool, lambda value, report: _has_null_struct(report) == value),
    "structs": _Word(bool, lambda value, report: _has_nested((StructType,), report) == value),
    "nested": _Word(bool, lambda value, report: _has_nested((StructType, ArrayType, MapType), report) == value),
    "multi_matched": _Word(bool, lambda value, report: report.facts.multi_matched == value),
    "equality_on": _Word(bool, lambda value, report: report.facts.equality_on == value),
    "reached_rules": _Word(list, lambda value, report: set(value) <= report.facts.rules),
    "reference_error": _Word(str, _reference_class, is_pattern=True),
    "settings": _Word(dict, lambda value, report: all(_found_settings(value, report.case.conf))),
    "any_setting": _Word(dict, lambda value, report: any(_found_settings(value, report.case.conf))),
    "properties": _Word(dict, lambda value, report: all(_found_settings(value, report.case.target.properties))),
    "check_constraints": _Word(
        bool, lambda value, report: any(map(is_constraint, report.case.target.properties)) == value
    ),
    "column_name": _Word(
        str, lambda value, report: any(re.search(value, name) for name in _column_names(report)), is_pattern=True
    ),
    "partition_column_name": _Word(
        str,
        lambda value, report: any(re.search(value, name) for name in report.case.target.partition_by),
        is_pattern=True,
    ),
    "partition_column": _Word(
        str, lambda value, report: any(re.search(value, ddl) for ddl in _partition_columns(report)), is_pattern=True
    ),
    "schema": _Word(str, _type_names, is_pattern=True),
    "target_schema": _Word(
        str, lambda value, report: re.search(value, report.case.target.schema.ddl()) is not None, is_pattern=True
    ),
    "text_cell": _Word(str, _has_text, is_pattern=True),
    "on": _Word(str, lambda value, report: re.search(value, _on(report)) is not None, is_pattern=True),
    "several_files": _Word(bool, lambda value, report: (len(report.case.target.files) > 1) == value),
    "empty_target": _Word(bool, lambda value, report: (not report.case.target.rows) == value),
    "empty_source": _Word(bool, lambda value, report: _has_no_source_row(report) == value),
    "sql": _Word(str, lambda value, report: re.search(value, report.case.sql) is not None, is_pattern=True),
}
WORDS = tuple(_WORDS)
"""The words of the vocabulary."""
