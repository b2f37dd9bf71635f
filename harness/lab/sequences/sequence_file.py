"""The file of a sequence: parsed, never evaluated, as case files are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mergecheck.harness.lab.sequences.steps import (
    NO_MERGE,
    AddColumn,
    Alter,
    Append,
    Change,
    ChangeType,
    Checkpoint,
    Delete,
    Merge,
    Purge,
    Restore,
    Rewrite,
    Sequence,
    Step,
)
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.case_file import case_from_json, case_to_json
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.types.data_types import quote
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT_VERSION = 1
_WITHOUT_ARGUMENT: dict[Step, str] = {Rewrite(): "rewrite", Checkpoint(): "checkpoint", Purge(): "purge"}
_KEYS = frozenset({"format_version", "id", "target", "steps"})


def dump_sequence(sequence: Sequence) -> str:
    """Write a sequence as one JSON document."""
    document = {
        "format_version": FORMAT_VERSION,
        "id": sequence.id,
        "target": _target_json(sequence.target),
        "steps": [_step_json(step, sequence.target) for step in sequence.steps],
        **({"maintainer": sequence.maintainer} if sequence.maintainer else {}),
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def parse_sequence(text: str, *, name: str) -> Sequence:
    """Read a sequence.

    Args:
        text: the file.
        name: leads messages.

    Raises:
        CaseFormatError: if the text is not in the format.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaseFormatError(f"{name}: no JSON: {error}") from error
    try:
        return _sequence(document, name)
    except RecursionError as error:
        raise CaseFormatError(f"{name}: is nested too deeply") from error


def _sequence(document: Any, name: str) -> Sequence:  # noqa: ANN401 - parsed JSON
    if not isinstance(document, dict) or not _KEYS <= document.keys() <= _KEYS | {"maintainer"}:
        raise CaseFormatError(
            f"{name}: a sequence has the keys format_version, id, target and steps, and perhaps maintainer"
        )
    if document["format_version"] != FORMAT_VERSION or not isinstance(document["steps"], list):
        raise CaseFormatError(f"{name}: format_version must be {FORMAT_VERSION}, steps a list")
    maintainer = document.get("maintainer", "")
    if not isinstance(maintainer, str):
        raise CaseFormatError(f"{name}: maintainer is the name of an engine")
    target = _case(document["target"], None, name).target
    steps = [_step(step, target, f"{name}, step {number}") for number, step in enumerate(document["steps"], start=1)]
    return Sequence(id=str(document["id"]), target=target, steps=tuple(steps), maintainer=maintainer)


def _target_json(target: Target) -> dict[str, Any]:
    case = Case(id="-", target=target, source=None, sql=NO_MERGE)
    written: dict[str, Any] = case_to_json(case)["target"]
    return written


def _step_json(step: Step, target: Target) -> dict[str, Any]:
    if isinstance(step, Merge):
        written = case_to_json(Case(id="-", target=target, source=step.source, sql=step.sql, conf=step.conf))
        by = {"writer": step.writer} if step.writer else {}
        return {"merge": {key: written[key] for key in ("source", "sql", "conf") if key in written} | by}
    if isinstance(step, Append):
        source = Source(schema=target.schema, rows=step.rows)
        return {"append": case_to_json(Case(id="-", target=target, source=source, sql=NO_MERGE))["source"]["rows"]}
    if isinstance(step, Delete):
        return {"delete": {"column": step.column, "value": step.value}}
    if isinstance(step, AddColumn):
        return {"add_column": f"{quote(step.column.name)} {step.column.type.ddl()}"}
    if isinstance(step, Restore):
        return {"restore": step.back}
    if isinstance(step, Alter):
        return {"alter": step.change.value}
    if isinstance(step, ChangeType):
        return {"change_type": f"{quote(step.column)} {step.type.ddl()}"}
    return {_WITHOUT_ARGUMENT[step]: True}


def _step(document: Any, target: Target, where: str) -> Step:  # noqa: ANN401 - parsed JSON
    if not isinstance(document, dict) or len(document) != 1:
        raise CaseFormatError(f"{where}: a step is an object with one key: {', '.join(_READERS)}")
    ((kind, given),) = document.items()
    if kind not in _READERS:
        raise CaseFormatError(f"{where}: {kind!r} is no step; allowed: {', '.join(_READERS)}")
    return _READERS[kind](given, target, where)


def _merge(given: Any, target: Target, where: str) -> Merge:  # noqa: ANN401 - parsed JSON
    if not isinstance(given, dict) or not {"source", "sql"} <= given.keys() <= {"source", "sql", "conf", "writer"}:
        raise CaseFormatError(f"{where}: a merge has source, sql and perhaps conf and writer")
    writer = given.get("writer", "")
    if not isinstance(writer, str):
        raise CaseFormatError(f"{where}: writer is the name of an engine")
    statement = {key: value for key, value in given.items() if key != "writer"}
    case = case_from_json(
        {"format_version": FORMAT_VERSION, "id": "-", "target": _target_json(target), **statement}, where=where
    )
    assert case.source is not None  # noqa: S101 - the key is there
    return Merge(source=case.source, sql=case.sql, conf=case.conf, writer=writer)


def _append(given: Any, target: Target, where: str) -> Append:  # noqa: ANN401 - parsed JSON
    # conditions and values of columns are the target's alone; rows that are appended have types only
    source = {"schema": _target_json(Target(schema=target.schema.plain))["schema"], "rows": given}
    case = _case(_target_json(target), source, where)
    return Append(case.source.rows if case.source is not None else ())


def _delete(given: Any, target: Target, where: str) -> Delete:  # noqa: ANN401 - parsed JSON
    if not isinstance(given, dict) or given.keys() != {"column", "value"}:
        raise CaseFormatError(f"{where}: a delete has column and value")
    value = given["value"]
    if given["column"] not in target.schema.names or not (value is None or type(value) is int):
        raise CaseFormatError(f"{where}: delete names a column of the target, and a whole number or null")
    return Delete(given["column"], value)


def _add_column(given: Any, _target: Target, where: str) -> AddColumn:  # noqa: ANN401 - parsed JSON
    columns = parse_schema(given).columns if isinstance(given, str) else ()
    if len(columns) != 1:
        raise CaseFormatError(f"{where}: add_column is the DDL of one column, such as 'n INT'")
    return AddColumn(columns[0])


def _alter(given: Any, _target: Target, where: str) -> Alter:  # noqa: ANN401 - parsed JSON
    allowed = {change.value: change for change in Change}
    if not isinstance(given, str) or given not in allowed:
        raise CaseFormatError(f"{where}: alter is one of {', '.join(allowed)}")
    return Alter(allowed[given])


def _change_type(given: Any, _target: Target, where: str) -> ChangeType:  # noqa: ANN401 - parsed JSON
    columns = parse_schema(given).columns if isinstance(given, str) else ()
    if len(columns) != 1:
        raise CaseFormatError(f"{where}: change_type is a column with its new type, such as 'n BIGINT'")
    return ChangeType(columns[0].name, columns[0].type)


def _without_argument(step: Step, kind: str) -> Callable[[Any, Target, str], Step]:
    def read(given: Any, _target: Target, where: str) -> Step:  # noqa: ANN401 - parsed JSON
        if given is not True:
            raise CaseFormatError(f"{where}: {kind} is true")
        return step

    return read


def _restore(given: Any, _target: Target, where: str) -> Restore:  # noqa: ANN401 - parsed JSON
    if type(given) is not int or given < 1:
        raise CaseFormatError(f"{where}: restore is the number of versions to go back, at least 1")
    return Restore(given)


_READERS: dict[str, Callable[[Any, Target, str], Step]] = {
    "merge": _merge,
    "append": _append,
    "delete": _delete,
    "add_column": _add_column,
    "restore": _restore,
    "alter": _alter,
    "change_type": _change_type,
    **{kind: _without_argument(step, kind) for step, kind in _WITHOUT_ARGUMENT.items()},
}


def _case(target: object, source: object, where: str) -> Case:
    document = {"format_version": FORMAT_VERSION, "id": "-", "target": target, "sql": NO_MERGE}
    return case_from_json(document | ({"source": source} if source is not None else {}), where=where)
