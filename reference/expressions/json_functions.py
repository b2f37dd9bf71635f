"""``from_json`` and ``get_json_object``, found by their names, for JSON that both systems read alike.

Where Spark is lenient (single quotes, wrong types, broken texts, names twice), the value is not known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mergecheck.model.errors import CaseFormatError, RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    NestedType,
    StructType,
    type_word,
)
from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.types.typed import Typed, combine, duckdb_type, identifier
from mergecheck.reference.casts.cast_sql import let, unsupported
from mergecheck.reference.expressions.literals import text_literal
from mergecheck.reference.expressions.operands import count, literal_text, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from mergecheck.reference.expressions.operands import Call, Translate

_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]{1,4})\]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHOLE = "-?(0|[1-9][0-9]*)"
# a fraction that Java writes unchanged
_SHORT = "-?(0[.][1-9]|0[.]0[1-9]|[1-9][0-9]{0,6}[.])[0-9]{0,6}[1-9]|-?[1-9][0-9]{0,6}[.]0|-?0[.][1-9]"
_NOT_PLAIN = unsupported("JSON that only one of the systems may read")
_OTHER = unsupported("JSON of another type than its column, or with a name twice")
# DuckDB also reads commas before a closing bracket, and infinities
_ODD = r"(?i),\s*[\]}]|[\[:,{]\s*[+-]?(nan|inf)|^\s*[+-]?(nan|inf)|\\u0000|//|/\*"


def _plain_json(sql: str) -> str:
    """Give a text as JSON; NULL for NULL and for a text without anything."""
    plain = f"json_valid(x) AND NOT regexp_matches(x, {text_literal(_ODD)})"
    return let(
        sql,
        f"CASE WHEN x IS NULL OR regexp_full_match(x, '[ \\t\\r\\n]*') THEN NULL WHEN {plain} THEN CAST(x AS JSON) "
        f"ELSE {_NOT_PLAIN} END",
    )


def _twice(value: str) -> str:
    """Return whether a name stands twice in an object."""
    return f"len(list_distinct(json_keys({value}))) < len(json_keys({value}))"


def _got(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    """Translate ``get_json_object`` of a path of names and places; only texts, whole numbers and truth values."""
    count(operands, 2)
    value, path = text(operands[0], translate), literal_text(operands[1])
    steps = list(_STEP.finditer(path, 1))
    if path[0] != "$" or not steps or "".join(step[0] for step in steps) != path[1:]:
        raise UnsupportedByReferenceError("a JSON path of this kind")
    sql = _plain_json(value.sql)
    for step in steps:
        if step[1]:
            one = f"CASE WHEN json_type(x) = 'OBJECT' THEN json_extract(x, '$.\"{step[1]}\"') END"
            sql = let(sql, f"CASE WHEN json_type(x) = 'OBJECT' AND {_twice('x')} THEN {_OTHER} ELSE {one} END")
        else:
            sql = let(sql, f"CASE WHEN json_type(x) = 'ARRAY' THEN json_extract(x, '$[{step[2]}]') END")
    found = (
        "CASE WHEN x IS NULL OR json_type(x) = 'NULL' THEN NULL "
        f"WHEN json_type(x) IN ('VARCHAR', 'BOOLEAN') OR regexp_full_match(CAST(x AS VARCHAR), '{_WHOLE}|{_SHORT}') "
        f"THEN json_extract_string(x, '$') ELSE {_OTHER} END"
    )
    return combine(let(sql, found), STRING, value, partial=True)


def _from_json(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    value, schema = text(operands[0], translate), literal_text(operands[1])
    try:
        columns = parse_schema(f"x {schema}").columns
        data_type = columns[0].type
    except CaseFormatError:
        try:
            columns = parse_schema(schema).columns
            data_type = StructType(tuple(columns))
        except CaseFormatError:
            raise UnsupportedByReferenceError("from_json to a type that case files do not have") from None
    if not isinstance(data_type, NestedType):
        raise UnsupportedByReferenceError("from_json to an atomic type")
    if any(column.limits for column in columns):
        raise RejectedError("UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING", f"from_json to a text with a length: {schema}")
    sql = let(_plain_json(value.sql), f"CASE WHEN json_type(x) = 'NULL' THEN {_OTHER} ELSE {_read('x', data_type)} END")
    return combine(sql, data_type, value, partial=True)


def _read(value: str, data_type: DataType, depth: int = 0) -> str:
    """Read a JSON value, a name or a member of one, as a type; NULL for JSON's null and for a missing value.

    Raises:
        UnsupportedByReferenceError: for types whose texts were not compared between the engines.
    """
    name = f"j{depth}"
    kind, word = f"json_type({name})", duckdb_type(data_type)
    string = f"json_extract_string({name}, '$')"
    if isinstance(data_type, StructType):
        members = []
        for field in data_type.fields:
            if not _NAME.fullmatch(field.name):
                raise UnsupportedByReferenceError("from_json with unusual names")
            member = _read(f"json_extract({name}, '$.\"{field.name}\"')", field.type, depth + 1)
            members.append(f"{identifier(field.name)} := {member}")
        fits, read = f"{kind} = 'OBJECT' AND NOT ({_twice(name)})", f"struct_pack({', '.join(members)})"
    elif isinstance(data_type, ArrayType):
        element = _read("e", data_type.element, depth + 1)
        fits = f"{kind} = 'ARRAY'"
        read = f"list_transform(CAST(json_extract({name}, '$[*]') AS JSON[]), lambda e: {element})"
    elif isinstance(data_type, MapType) and data_type.key == STRING:
        member = _read(f"json_extract({name}, '$.\"' || k || '\"')", data_type.value, depth + 1)
        plain = f"len(list_filter(json_keys({name}), lambda k: NOT regexp_full_match(k, '[A-Za-z0-9_ .-]+'))) = 0"
        fits = f"{kind} = 'OBJECT' AND NOT ({_twice(name)}) AND {plain}"
        read = f"map(json_keys({name}), list_transform(json_keys({name}), lambda k: {member}))"
    else:
        fits, read = _atom(name, string, data_type)
    body = (
        f"CASE WHEN {name} IS NULL OR {kind} = 'NULL' THEN CAST(NULL AS {word}) WHEN {fits} "
        f"THEN CAST({read} AS {word}) ELSE {_OTHER} END"
    )
    return f"(list_transform([{value}], lambda {name}: {body})[1])"


def _atom(name: str, string: str, data_type: DataType) -> tuple[str, str]:
    kind, spelled, word = f"json_type({name})", f"CAST({name} AS VARCHAR)", duckdb_type(data_type)
    is_whole = f"regexp_full_match({spelled}, '{_WHOLE}') AND {spelled} <> '-0' AND length({spelled}) < 19"
    if data_type == STRING:
        return f"({kind} IN ('VARCHAR', 'BOOLEAN') OR ({is_whole}))", string
    if data_type in INTEGER_BITS:
        return f"{is_whole} AND TRY_CAST({spelled} AS {word}) IS NOT NULL", spelled
    if data_type == BOOLEAN:
        return f"{kind} = 'BOOLEAN'", spelled
    if data_type == DOUBLE:
        plain = f"regexp_full_match({spelled}, '{_WHOLE}([.][0-9]+)?([eE][+-]?[0-9]{{1,2}})?')"
        return f"{plain} AND length({spelled}) < 25", spelled
    if isinstance(data_type, DecimalType):
        fraction = f"([.][0-9]{{1,{data_type.scale}}})?" if data_type.scale else ""
        plain = f"regexp_full_match({spelled}, '{_WHOLE}{fraction}')"
        return f"{plain} AND TRY_CAST({spelled} AS {word}) IS NOT NULL", spelled
    if data_type == DATE:
        form = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
        valid = f"TRY_CAST({string} AS DATE) IS NOT NULL AND {string} >= '0001'"
        return f"{kind} = 'VARCHAR' AND regexp_full_match({string}, '{form}') AND {valid}", string
    if data_type == TIMESTAMP:
        form = "[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{3})?Z"
        plain = f"CAST(replace({string}, 'Z', '') AS TIMESTAMP)"
        valid = f"TRY_CAST(replace({string}, 'Z', '') AS TIMESTAMP) IS NOT NULL AND {string} >= '0001'"
        matches = f"{kind} = 'VARCHAR' AND regexp_full_match({string}, '{form}')"
        return f"{matches} AND {valid}", f"({plain} AT TIME ZONE 'UTC')"
    raise UnsupportedByReferenceError(f"from_json to {type_word(data_type)}")


JSON_CALLS: Final[dict[str, Call]] = {"from_json": _from_json, "get_json_object": _got}
