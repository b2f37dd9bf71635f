"""The case file, version 1: read strictly, written without loss.

Case files come from strangers: they are parsed, never evaluated, and a file that is not in the format gets one message
with the place, the value found and the values allowed.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mergecheck.model.case import CDF_PROPERTY, Case, Expectation, Source, Target
from mergecheck.model.error_pattern import BadPatternError, require_pattern
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.json_shape import require_column_names, require_object, require_text, require_text_map
from mergecheck.model.limits import check_case, check_document, check_schema
from mergecheck.model.long_texts import long_texts
from mergecheck.model.storage_file import layout_to_json, source_layout, target_layout
from mergecheck.model.table_properties import checked_properties, is_on
from mergecheck.model.text_file import read_text
from mergecheck.model.types.data_types import STRING, Field, Schema
from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.values import decode_row, encode_rows

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.model.case import Row

FORMAT_VERSION = 1

ORIGIN_KEY = "origin"
"""Where a case comes from: an object that does not concern the merge, so that no case carries it."""

_CASE_KEYS = ("format_version", "id", "target", "source", "tables", "sql", "conf", "expect", ORIGIN_KEY)
_TARGET_KEYS = ("schema", "partition_by", "files", "rows", "properties", "layout", "transactions")
_SOURCE_KEYS = ("schema", "rows", "layout")
_EXPECT_KEYS = ("rows", "schema", "metrics", "cdf", "error", "unchanged")
_TEXT_KEYS = frozenset({"target", "source", "tables", "sql", "conf", "expect"})
_CELL_KEYS = ("rows", "files", "cdf")
_TABLE_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
_OWN_NAMES = ("target", "source")
_OWN_PREFIX = "mergecheck"  # of views that the engines make
_FEED_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
_CHANGE_TYPES = ("insert", "update_preimage", "update_postimage", "delete")


def load_cases(path: Path) -> tuple[Case, ...]:
    """Read a ``.json`` file (one case) or a ``.jsonl`` file (one case a line).

    Args:
        path: the file, in UTF-8.

    Raises:
        CaseFormatError: if the file cannot be read or is not in the format.
    """
    return parse_cases(read_text(path), name=str(path), lines=path.suffix == ".jsonl")


def parse_cases(text: str, *, name: str, lines: bool) -> tuple[Case, ...]:
    """Read cases from text: with ``lines`` one case a line, else one JSON document. ``name`` leads messages.

    Raises:
        CaseFormatError: if the text is not in the format.
    """
    if not lines:
        return (_parse_one(text, name),)
    numbered = enumerate(text.split("\n"), start=1)
    return tuple(_parse_one(line, f"{name}, line {number}") for number, line in numbered if line.strip())


def parse_document(text: str, *, where: str) -> dict[str, Any]:
    """Read the JSON object of one case; ``where`` leads messages.

    Raises:
        CaseFormatError: the text is no JSON object, or has a key twice.
    """
    check_document(text, where)
    try:
        document = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except (json.JSONDecodeError, RecursionError) as error:
        raise CaseFormatError(f"{where}: is not JSON: {error}") from error
    except ValueError as error:
        raise CaseFormatError(f"{where}: {error}") from error
    return _object(document, where)


def case_from_json(document: object, *, where: str) -> Case:
    """Build a case from parsed JSON; ``where`` leads messages.

    Raises:
        CaseFormatError: if the document is not in the format.
    """
    try:
        return _case(_object(document, where), where)
    except RecursionError as error:
        raise CaseFormatError(f"{where}: is nested too deeply") from error


def _object(document: object, where: str) -> dict[str, Any]:
    return require_object(document, _CASE_KEYS, ("format_version", "id", "target", "sql"), where)


def _case(keys: dict[str, Any], where: str) -> Case:
    version = keys["format_version"]
    if version != FORMAT_VERSION or isinstance(version, bool):
        raise CaseFormatError(
            f"{where}: format_version {version!r} is not known; this program reads version {FORMAT_VERSION}. "
            "Upgrade mergecheck if the file is newer."
        )
    case_id = require_text(keys["id"], f"{where}, id")
    where = f"{where} ({case_id})"
    if not isinstance(keys.get(ORIGIN_KEY, {}), dict):
        raise CaseFormatError(f"{where}, {ORIGIN_KEY}: must be an object, given {keys[ORIGIN_KEY]!r:.80}")
    for key in keys.keys() & _TEXT_KEYS:
        _require_whole_characters(keys[key], f"{where}, {key}")
    target = _target(keys["target"], f"{where}, target")
    case = Case(
        id=case_id,
        target=target,
        source=_source(keys["source"], f"{where}, source") if keys.get("source") is not None else None,
        tables=_tables(keys.get("tables", {}), f"{where}, tables"),
        sql=require_text(keys["sql"], f"{where}, sql"),
        conf=require_text_map(keys.get("conf", {}), f"{where}, conf"),
        expect=_expectation(keys["expect"], target, f"{where}, expect") if "expect" in keys else None,
    )
    check_case(case, where)
    return case


def _require_whole_characters(value: object, where: str) -> None:
    """Refuse a text that is no UTF-8, as no engine and no file can take it; cells have a message of their own."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            found = ascii(value[error.start])
            raise CaseFormatError(f"{where}: must be text without lone surrogates, found {found}") from None
    elif isinstance(value, dict):
        for name, member in value.items():
            _require_whole_characters(name, where)
            if not (name in _CELL_KEYS and isinstance(member, list)):
                _require_whole_characters(member, f"{where}, {name}")
    elif isinstance(value, list):
        for member in value:
            _require_whole_characters(member, where)


def case_to_json(case: Case) -> dict[str, Any]:
    """Write a case as JSON-ready data, without its origin; ``case_from_json`` gives an equal case back."""
    target: dict[str, Any] = {
        "schema": case.target.schema.ddl(),
        "partition_by": list(case.target.partition_by),
        "files": [encode_rows(rows, case.target.schema) for rows in case.target.files],
    }
    if case.target.properties:
        target["properties"] = dict(case.target.properties)
    if layout := layout_to_json(case.target.layout):
        target["layout"] = layout
    if case.target.transactions:
        target["transactions"] = dict(case.target.transactions)
    document: dict[str, Any] = {"format_version": FORMAT_VERSION, "id": case.id, "target": target}
    if case.source is not None:
        document["source"] = _source_to_json(case.source)
    if case.tables:
        document["tables"] = {name: _source_to_json(table) for name, table in case.tables.items()}
    document["sql"] = case.sql
    if case.conf:
        document["conf"] = dict(case.conf)
    if case.expect is not None:
        document["expect"] = _expectation_to_json(case.expect, case.target.schema)
    return document


def _source_to_json(source: Source) -> dict[str, Any]:
    document: dict[str, Any] = {"schema": source.schema.ddl(), "rows": encode_rows(source.rows, source.schema)}
    if layout := layout_to_json(source.layout):
        document["layout"] = layout
    return document


def dump_case(case: Case) -> str:
    """Write a case as one line of JSON.

    Args:
        case: what to write; its values must be of the types of their columns.

    Raises:
        CaseFormatError: for a value that is not of its column's type.
    """
    return json.dumps(case_to_json(case), ensure_ascii=False, allow_nan=False)


def _parse_one(text: str, where: str) -> Case:
    return case_from_json(parse_document(text, where=where), where=where)


def _no_constant(word: str) -> object:
    raise ValueError(f'{word} is not JSON; write it as text: "{word}"')


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} stands twice in one object")
    return document


def _schema(value: object, where: str) -> Schema:
    if not isinstance(value, str):
        raise CaseFormatError(f"{where}: must be a schema such as 'id BIGINT, v STRING', given {value!r:.80}")
    try:
        schema = parse_schema(value)
    except CaseFormatError as error:
        raise CaseFormatError(f"{where}: {error}") from error
    check_schema(schema, where)
    return schema


def _rows(value: object, schema: Schema, where: str) -> tuple[Row, ...]:
    if not isinstance(value, list):
        raise CaseFormatError(f"{where}: must be a list of rows, given {value!r:.80}")
    return tuple(decode_row(row, schema, f"{where}, row {i}") for i, row in enumerate(value))


def _target(document: object, where: str) -> Target:
    keys = require_object(document, _TARGET_KEYS, ("schema",), where)
    schema = _schema(keys["schema"], f"{where}, schema")
    if ("files" in keys) == ("rows" in keys):
        raise CaseFormatError(f"{where}: give either 'files' (rows file by file) or 'rows' (one file)")
    if "files" in keys:
        if not isinstance(keys["files"], list):
            raise CaseFormatError(f"{where}, files: must be a list of lists of rows, given {keys['files']!r:.80}")
        files = tuple(_rows(rows, schema, f"{where}, file {i}") for i, rows in enumerate(keys["files"]))
    else:
        rows = _rows(keys["rows"], schema, f"{where}, rows")
        files = (rows,) if rows else ()
    partition_by = require_column_names(keys.get("partition_by", []), tuple(schema.names), f"{where}, partition_by")
    properties = checked_properties(
        require_text_map(keys.get("properties", {}), f"{where}, properties"), f"{where}, properties"
    )
    if is_on(properties, CDF_PROPERTY):
        _check_feed_columns(schema, where)
    return Target(
        schema=schema,
        files=files,
        partition_by=partition_by,
        properties=properties,
        layout=target_layout(keys.get("layout", {}), schema, partition_by, f"{where}, layout"),
        transactions=_counts(keys.get("transactions", {}), f"{where}, transactions"),
    )


def _check_feed_columns(schema: Schema, where: str) -> None:
    """Refuse columns of the change feed in a table that has one (R-632)."""
    for name in schema.names:
        if name in _FEED_COLUMNS:
            raise CaseFormatError(
                f"{where}, schema: {name!r} is a column of the change feed; Delta Lake refuses {CDF_PROPERTY} for "
                "such a table. Name the column otherwise, or leave the property out"
            )


def _source(document: object, where: str) -> Source:
    keys = require_object(document, _SOURCE_KEYS, ("schema", "rows"), where)
    schema = _schema(keys["schema"], f"{where}, schema")
    rows = _rows(keys["rows"], schema, f"{where}, rows")
    for column in schema.columns:
        if column.limit is not None and column.limit.padded:
            raise CaseFormatError(
                f"{where}, schema: {column.name!r} is CHAR({column.limit.length}); only target columns may be a CHAR. "
                "Write STRING, and give the texts as the source's reader sees them: with spaces behind them."
            )
    schema = _without_lengths(schema, rows, where)
    for column in schema.columns:
        if (column.default, column.generated, column.of_delta_only) != (None, None, None):
            text = f"{where}, schema: {column.name!r} has a value or a condition of its own; only target columns may"
            raise CaseFormatError(text)
    return Source(
        schema=schema,
        rows=rows,
        layout=source_layout(keys.get("layout", {}), f"{where}, layout"),
    )


def _without_lengths(schema: Schema, rows: tuple[Row, ...], where: str) -> Schema:
    """Take VARCHAR in a source for STRING, as its readers do; only a write looks at the length (R-822)."""
    for place, column in enumerate(schema.columns):
        for row in rows:
            if long := next(long_texts(row[place], column.type, column.limits, column.name), None):
                raise CaseFormatError(
                    f"{where}, rows: {long.path} is {long.limit.ddl()}, and a text has {long.characters} characters; "
                    "no table holds it"
                )
    return Schema(tuple(replace(column, limits=()) for column in schema.columns))


def _tables(document: object, where: str) -> dict[str, Source]:
    if not isinstance(document, dict):
        raise CaseFormatError(f"{where}: must be an object of tables by their names, given {document!r:.80}")
    for name in document:
        if not _TABLE_NAME.fullmatch(name) or name in _OWN_NAMES or name.startswith(_OWN_PREFIX):
            raise CaseFormatError(
                f"{where}: {name!r:.80} is no name for a table; a name has up to 60 small letters, digits and "
                f"underscores, starts with a letter, and is not {' or '.join(_OWN_NAMES)} nor begins with {_OWN_PREFIX}"
            )
    tables = {name: _source(table, f"{where}, {name}") for name, table in document.items()}
    for name, table in tables.items():
        if not table.schema.columns:
            raise CaseFormatError(f"{where}, {name}, schema: must have a column; only target and source may have none")
    return tables


def _expectation(document: object, target: Target, where: str) -> Expectation:
    keys = require_object(document, _EXPECT_KEYS, (), where)
    schema = _schema(keys["schema"], f"{where}, schema") if "schema" in keys else None
    columns = schema or target.schema
    metrics = _counts(keys["metrics"], f"{where}, metrics") if keys.get("metrics") is not None else None
    error, unchanged = keys.get("error"), keys.get("unchanged")
    if unchanged is not None and not isinstance(unchanged, bool):
        raise CaseFormatError(f"{where}, unchanged: must be true or false, given {unchanged!r:.80}")
    if schema is None:
        _check_widths(keys, target, where)
    return Expectation(
        rows=_rows(keys["rows"], columns, f"{where}, rows") if "rows" in keys else None,
        schema=schema,
        metrics=metrics,
        cdf=_changes(keys["cdf"], columns, f"{where}, cdf") if "cdf" in keys else None,
        error=_pattern(error, f"{where}, error") if error is not None else None,
        unchanged=unchanged,
    )


def _check_widths(keys: dict[str, Any], target: Target, where: str) -> None:
    """Name the key that gives the columns after the merge, which rows of other columns need."""
    width = len(target.schema.columns)
    for key, width_of_rows in (("rows", width), ("cdf", width + 1)):
        for number, row in enumerate(keys[key] if isinstance(keys.get(key), list) else ()):
            if isinstance(row, list) and len(row) > width_of_rows:
                raise CaseFormatError(
                    f"{where}, {key}, row {number}: has {len(row)} cells, and the target {width} columns "
                    f"({', '.join(target.schema.names)}). If the merge adds columns, give all columns after it as "
                    '"schema" beside "rows", for example {"schema": "'
                    f'{target.schema.plain.ddl()}, new INT", "rows": [...]}}'
                )


def _pattern(value: object, where: str) -> str:
    pattern = require_text(value, where)
    try:
        require_pattern(pattern)
    except BadPatternError as error:
        raise CaseFormatError(f"{where}: {pattern!r:.80} is no regular expression of RE2: {error}") from error
    return pattern


def _counts(value: object, where: str) -> dict[str, int]:
    if not isinstance(value, dict) or not all(isinstance(v, int) and not isinstance(v, bool) for v in value.values()):
        raise CaseFormatError(f"{where}: must be an object of whole numbers, given {value!r:.80}")
    return value


def _changes(value: object, columns: Schema, where: str) -> tuple[Row, ...]:
    rows = _rows(value, change_schema(columns), where)
    for row in rows:
        if row[-1] not in _CHANGE_TYPES:
            raise CaseFormatError(f"{where}: {row[-1]!r} is no change type; allowed are {', '.join(_CHANGE_TYPES)}")
    return rows


def change_schema(schema: Schema) -> Schema:
    """Give the columns of a change row: the table's, then ``_change_type`` (R-602)."""
    return Schema((*schema.columns, Field("_change_type", STRING)))


def _expectation_to_json(expect: Expectation, target_schema: Schema) -> dict[str, Any]:
    schema = expect.schema or target_schema
    document: dict[str, Any] = {}
    if expect.rows is not None:
        document["rows"] = encode_rows(expect.rows, schema)
    if expect.schema is not None:
        document["schema"] = expect.schema.ddl()
    if expect.metrics is not None:
        document["metrics"] = dict(expect.metrics)
    if expect.cdf is not None:
        document["cdf"] = encode_rows(expect.cdf, change_schema(schema))
    if expect.error is not None:
        document["error"] = expect.error
    if expect.unchanged is not None:
        document["unchanged"] = expect.unchanged
    return document
