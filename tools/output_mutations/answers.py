"""Engines' answers to the cases of the known deviations, recorded as JSON: a corruption needs no engine then."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.table_outcome import CommitRecord, LoggedAction, TableOutcome
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.lab.mutants import RecordedEngine
from mergecheck.harness.report.json import answer_json
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Feed, MergePath, Outcome, Rejection
from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.values import decode_row
from mergecheck.reference.dialects import DIALECTS

if TYPE_CHECKING:
    from mergecheck.harness.engine import Engine
    from mergecheck.model.types.data_types import Schema

FOLDER = "tools/output_mutations/answers"
"""Where the answers are in the repository, one file for each engine."""

_TABLE_COUNTS = ("num_records_added", "num_records_removed", "num_files_added")
_TABLE_TEXTS = ("members_not_null", "file_faults")
_NAMES = ("metric_names", "commit_info")
_SHOWN = ("rows", "schema", "metrics", "cdf", "error_class", "exact_metric_names")


def answers_to_json(engine: Engine, answers: dict[str, Outcome | Rejection]) -> str:
    """Write an engine's answers by the ids of the deviations."""
    known = engine.capabilities
    document = {
        "engine": engine.name,
        "version": engine.version,
        "capabilities": {
            **{name: getattr(known, name) for name in _SHOWN},
            **{name: None if names is None else sorted(names) for name, names in _names(known).items()},
            "dialect": known.dialect.name,
        },
        "answers": {name: _answer_to_json(answer) for name, answer in sorted(answers.items())},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def load_answers() -> dict[str, RecordedEngine]:
    """Read the packaged answers, by the ids of the deviations."""
    folder = resources.files("tools.output_mutations") / "answers"
    found: dict[str, RecordedEngine] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        found |= answers_from_json(file.read_text(encoding="utf-8"))
    return found


def answers_from_json(text: str) -> dict[str, RecordedEngine]:
    """Read one engine's answers, as ``answers_to_json`` writes them; each is an engine that gives it."""
    document = json.loads(text)
    given = document["capabilities"]
    for name in _NAMES:
        given[name] = None if given[name] is None else frozenset(given[name])
    given["dialect"] = DIALECTS[given["dialect"]]
    return {
        name: RecordedEngine(
            name=document["engine"],
            version=document["version"],
            capabilities=Capabilities(**given),
            answer=_answer_from_json(answer, name),
        )
        for name, answer in document["answers"].items()
    }


def _names(known: Capabilities) -> dict[str, frozenset[str] | None]:
    return {name: getattr(known, name) for name in _NAMES}


def _answer_to_json(answer: Outcome | Rejection) -> dict[str, Any]:
    document = answer_json(answer) or {}
    if isinstance(answer, Rejection):
        return {**document, "unchanged": answer.unchanged}
    return {**document, "feed": answer.feed.value}


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
        "result_row": document["result_row"],
        "feed": Feed(document["feed"]),
    }
    table = document.get("table")
    if table is None:
        return Outcome(**outcome)
    texts: dict[str, Any] = {name: tuple(table[name]) for name in _TABLE_TEXTS}
    record = None if table["log"] is None else _record_from_json(table["log"])
    return TableOutcome(**outcome, **{name: table[name] for name in _TABLE_COUNTS}, **texts, record=record)


def _record_from_json(log: dict[str, Any]) -> CommitRecord:
    return CommitRecord(
        read_version=log["read_version"],
        num_commits=log["num_commits"],
        actions=tuple(LoggedAction(**action) for action in log["actions"]),
        info=log["commit_info"],
        timestamp_before=log.get("timestamp_before"),
        definition_before=log["definition_before"],
        definition=log["definition"],
        added_columns=frozenset(log["added_columns"]),
    )


def _rows(rows: list[Any], schema: Schema, where: str) -> tuple[tuple[Any, ...], ...]:
    return tuple(decode_row(row, schema, where) for row in rows)
