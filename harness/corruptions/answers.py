"""Engines' answers to the cases of the known deviations, recorded as JSON: a corruption needs no engine then."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.report.json import answer_json
from mergecheck.reference.case.case_file import change_schema
from mergecheck.reference.case.values import decode_row
from mergecheck.reference.outcome import MergePath, Outcome, Rejection
from mergecheck.reference.types.ddl import parse_schema

if TYPE_CHECKING:
    from mergecheck.harness.engine import Engine
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.types.data_types import Schema

FOLDER = "harness/corruptions/answers"
"""Where the answers are in the repository, one file for each engine."""

_TABLE_COUNTS = ("num_records_added", "num_records_removed", "num_files_added")
_TABLE_TEXTS = ("members_not_null", "file_faults")
_SHOWN = ("rows", "schema", "metrics", "cdf", "error_class", "exact_metric_names")


@dataclass(slots=True, kw_only=True)
class RecordedEngine:
    """An engine that answers as it is told: an ``Engine`` without a system behind it."""

    name: str
    version: str
    capabilities: Capabilities
    answer: Outcome | Rejection

    def run(self, case: Case) -> Outcome | Rejection:  # noqa: ARG002 - the protocol's
        """Return the answer, whatever the case is."""
        return self.answer

    def close(self) -> None:
        """Hold nothing."""


def answers_to_json(engine: Engine, answers: dict[str, Outcome | Rejection]) -> str:
    """Write an engine's answers by the ids of the deviations."""
    known = engine.capabilities
    document = {
        "engine": engine.name,
        "version": engine.version,
        "capabilities": {
            **{name: getattr(known, name) for name in _SHOWN},
            "metric_names": None if known.metric_names is None else sorted(known.metric_names),
        },
        "answers": {name: _answer_to_json(answer) for name, answer in sorted(answers.items())},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def load_answers() -> dict[str, RecordedEngine]:
    """Read the packaged answers, by the ids of the deviations."""
    folder = resources.files("mergecheck.harness.corruptions") / "answers"
    found: dict[str, RecordedEngine] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        document = json.loads(file.read_text(encoding="utf-8"))
        given = document["capabilities"]
        names = given.pop("metric_names")
        capabilities = Capabilities(**given, metric_names=None if names is None else frozenset(names))
        for name, answer in document["answers"].items():
            found[name] = RecordedEngine(
                name=document["engine"],
                version=document["version"],
                capabilities=capabilities,
                answer=_answer_from_json(answer, name),
            )
    return found


def _answer_to_json(answer: Outcome | Rejection) -> dict[str, Any]:
    document = answer_json(answer) or {}
    if isinstance(answer, Rejection):
        return {**document, "unchanged": answer.unchanged}
    if isinstance(answer, TableOutcome):
        counts = {name: getattr(answer, name) for name in _TABLE_COUNTS}
        document["table"] = {**counts, **{name: list(getattr(answer, name)) for name in _TABLE_TEXTS}}
    return document


def _answer_from_json(document: dict[str, Any], where: str) -> Outcome | Rejection:
    if "error" in document:
        error = document["error"]
        return Rejection(error_class=error["class"], message=error["message"], unchanged=document["unchanged"])
    schema = parse_schema(document["schema"])
    cdf = document["cdf"]
    outcome: dict[str, Any] = {
        "schema": schema,
        "rows": _rows(document["rows"], schema, where),
        "metrics": document["metrics"],
        "cdf": None if cdf is None else _rows(cdf, change_schema(schema), where),
        "committed": document["committed"],
        "path": None if document["path"] is None else MergePath(document["path"]),
    }
    table = document.get("table")
    if table is None:
        return Outcome(**outcome)
    texts: dict[str, Any] = {name: tuple(table[name]) for name in _TABLE_TEXTS}
    return TableOutcome(**outcome, **{name: table[name] for name in _TABLE_COUNTS}, **texts)


def _rows(rows: list[Any], schema: Schema, where: str) -> tuple[tuple[Any, ...], ...]:
    return tuple(decode_row(row, schema, where) for row in rows)
