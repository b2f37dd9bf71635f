"""Predicates that select the cases a deviation applies to: the properties of a case, and words with a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.deviations.patterns import BadPatternError, pattern_of
from mergecheck.harness.properties.rule_counts import known_rules
from mergecheck.harness.properties.vocabulary import PROPERTIES, clauses_of
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.outcome import Rejection
from mergecheck.model.types.data_types import Schema
from mergecheck.reference.syntax.dialect import SparkDialect
from mergecheck.reference.syntax.statement import Action, Kind, parse_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.harness.properties.vocabulary import EvaluatedCase


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


def _clauses(report: EvaluatedCase) -> set[str]:
    return {f"{clause.kind.value}/{clause.action.value}" for clause in clauses_of(report)}


def _kinds(report: EvaluatedCase) -> set[str]:
    return {clause.partition("/")[0] for clause in _clauses(report)}


def _reference_class(pattern: str, report: EvaluatedCase) -> bool:
    answer = report.reference.answer
    return isinstance(answer, Rejection) and re.fullmatch(pattern, answer.error_class) is not None


def _found_settings(wanted: dict[str, str], given: Mapping[str, str]) -> list[bool]:
    """Return for each setting whether it has its value; ``*`` means any value, but the setting must be present."""
    return [name in given and (value == _ANY or given[name].lower() == value.lower()) for name, value in wanted.items()]


def _on(report: EvaluatedCase) -> str:
    try:
        statement = report.reference.trace.statement or parse_statement(report.case.sql)
    except (RejectedError, UnsupportedByReferenceError):
        return ""
    return statement.on.sql(dialect=SparkDialect)


def _fired(report: EvaluatedCase) -> set[str]:
    return {f"{kind}/{action}" for kind, action in report.facts.clauses_applied}


def _column_names(report: EvaluatedCase) -> list[str]:
    read = report.reference.trace.source
    names = [name for schema in report.case.relations.values() for name in schema.names]
    return [*names, *(read.schema.names if read is not None else ())]  # a query of the source may name its own


def _type_names(pattern: str, report: EvaluatedCase) -> bool:
    return any(re.search(pattern, schema.ddl()) for schema in report.case.relations.values())


def _partition_columns(report: EvaluatedCase) -> list[str]:
    """Write each partition column as Spark DDL, such as ``name STRING NOT NULL``."""
    target = report.case.target
    return [Schema((column,)).ddl() for column in target.schema.columns if column.name in target.partition_by]


def _has_text(pattern: str, report: EvaluatedCase) -> bool:
    cells = (cell for table in report.case.all_tables for row in table.rows for cell in row)
    return any(isinstance(cell, str) and re.search(pattern, cell) for cell in cells)


def _property(name: str) -> _Word:
    return _Word(bool, lambda value, report: PROPERTIES[name].holds(report) == value)


_WORDS: Mapping[str, _Word] = {
    **{name: _property(name) for name in PROPERTIES},
    "clauses": _Word(list, lambda value, report: set(value) <= _clauses(report)),
    "no_clauses": _Word(list, lambda value, report: not set(value) & _clauses(report)),
    "kinds": _Word(list, lambda value, report: set(value) <= _kinds(report)),
    "only_kinds": _Word(list, lambda value, report: _kinds(report) <= set(value)),
    "fired_clauses": _Word(list, lambda value, report: set(value) <= _fired(report)),
    "no_fired_clauses": _Word(list, lambda value, report: not set(value) & _fired(report)),
    "reached_rules": _Word(list, lambda value, report: set(value) <= report.facts.rules),
    "reference_error": _Word(str, _reference_class, is_pattern=True),
    "settings": _Word(dict, lambda value, report: all(_found_settings(value, report.case.conf))),
    "any_setting": _Word(dict, lambda value, report: any(_found_settings(value, report.case.conf))),
    "properties": _Word(dict, lambda value, report: all(_found_settings(value, report.case.target.properties))),
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
    "sql": _Word(str, lambda value, report: re.search(value, report.case.sql) is not None, is_pattern=True),
}
WORDS = tuple(_WORDS)
"""The words of the vocabulary."""
