"""The case file: exact round trips, and one clear message for everything that is wrong."""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergecheck.reference.case.arrow import rows_to_table, table_to_rows
from mergecheck.reference.case.case_file import case_from_json, dump_case, load_cases, parse_cases
from mergecheck.reference.case.model import Case, Expectation, Source, Target
from mergecheck.reference.case.values import decode, encode
from mergecheck.reference.errors import CaseFormatError
from mergecheck.reference.types.ddl import parse_schema

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.reference.types.data_types import DataType

_NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_TIMES = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))  # noqa: DTZ001 - bounds of a naive type

VALUES = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-(2**7), 2**7 - 1),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": st.floats(width=32),
    "DOUBLE": _NUMBERS,
    "DECIMAL(38,10)": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-10")),
    "DECIMAL(1,1)": st.integers(-9, 9).map(lambda n: Decimal(f"{n}E-1")),
    "STRING": _TEXT,
    "BINARY": st.binary(),
    "DATE": st.dates(),
    "TIMESTAMP": _TIMES.map(lambda t: t.replace(tzinfo=dt.UTC)),
    "TIMESTAMP_NTZ": _TIMES,
    "STRUCT<a: INT, `b c`: STRING>": st.tuples(st.none() | st.integers(0, 9), st.none() | _TEXT),
    "ARRAY<DOUBLE>": st.lists(st.none() | _NUMBERS).map(tuple),
    "MAP<STRING, ARRAY<INT>>": st.dictionaries(
        _TEXT, st.none() | st.lists(st.none() | st.integers(0, 9)).map(tuple)
    ).map(lambda pairs: tuple(pairs.items())),
}


def bits(value: Any) -> Any:
    """Make equality exact: floats by their bits (one NaN), types told apart."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack("<d", value)
    if isinstance(value, tuple):
        return tuple(bits(item) for item in value)
    return (type(value), str(value))


@pytest.mark.parametrize("ddl", VALUES)
@given(data=st.data())
def test_values_survive_json_and_arrow(ddl: str, data: st.DataObject) -> None:
    """Every value of every type comes back bit for bit through JSON text and through Arrow."""
    schema = parse_schema(f"v {ddl}")
    data_type: DataType = schema.columns[0].type
    value = data.draw(st.none() | VALUES[ddl])

    text = json.dumps(encode(value, data_type), allow_nan=False)
    through_arrow = table_to_rows(rows_to_table([(value,)], schema), schema)[0][0]

    assert bits(value) == bits(decode(json.loads(text), data_type, "here"))
    assert bits(value) == bits(through_arrow)


@pytest.mark.parametrize(
    "ddl",
    [
        "",
        "id BIGINT, v STRING",
        "`a b` INT NOT NULL, `c.d` STRING, `e``f` DATE, `1x` INT, `select` INT",
        "s STRUCT<a: INT, `b c`: ARRAY<MAP<STRING, DECIMAL(5,2)>>>, t TIMESTAMP_NTZ",
    ],
)
def test_schemas_round_trip(ddl: str) -> None:
    """A schema spelled out reads back equal, whatever its names."""
    schema = parse_schema(ddl)

    assert schema == parse_schema(schema.ddl())


def test_schema_reads_sparks_synonyms() -> None:
    """Spark has several words for some types."""
    given = parse_schema("a byte, b short, c integer, d long, e real, f dec(5), g numeric, h struct<x int>")

    assert given == parse_schema(
        "a TINYINT, b SMALLINT, c INT, d BIGINT, e FLOAT, f DECIMAL(5,0), g DECIMAL(10,0), h STRUCT<x: INT>"
    )


@pytest.mark.parametrize(
    ("ddl", "message"),
    [
        ("id", "expected a type, but the text ends"),
        ("id BIGNUM", "unknown type; allowed are BOOLEAN"),
        ("id INT v INT", "expected ','"),
        ("a DECIMAL(40,2)", "is not a decimal type of Spark"),
        ("a ARRAY<INT", "expected '>' that closes ARRAY<, but the text ends"),
        ("a b INT", "unknown type"),
        ("a STRUCT<", "expected a name, but the text ends"),
    ],
)
def test_bad_schemas_say_what_is_wrong(ddl: str, message: str) -> None:
    """A schema that cannot be read names the place and what was expected."""
    with pytest.raises(CaseFormatError) as raised:
        parse_schema(ddl)

    assert message in str(raised.value)


def example_case() -> Case:
    """Build a case that uses every key."""
    schema = parse_schema("id BIGINT, v DOUBLE")
    return Case(
        id="every-key",
        target=Target(
            schema=schema,
            files=(((1, -0.0), (2, None)), ()),
            partition_by=("id",),
            properties={"delta.enableChangeDataFeed": "true"},
        ),
        source=Source(schema=schema, rows=((1, math.inf),)),
        sql="MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
        conf={"spark.sql.ansi.enabled": "true"},
        expect=Expectation(
            rows=((1, math.inf), (2, None)),
            metrics={"numTargetRowsUpdated": 1},
            cdf=((1, -0.0, "update_preimage"), (1, math.inf, "update_postimage")),
            unchanged=False,
        ),
    )


def test_case_round_trips() -> None:
    """Writing and reading gives an equal case."""
    case = example_case()

    assert (case,) == parse_cases(dump_case(case), name="case", lines=False)


def test_jsonl_reads_one_case_a_line(tmp_path: Path) -> None:
    """Blank lines are passed over; a line separator inside text is no end of line."""
    path = tmp_path / "cases.jsonl"
    line = dump_case(example_case())
    separated = line.replace("every-key", "every\u2028key")
    path.write_text(f"{line}\n\n{separated}\n", encoding="utf-8")

    assert ["every-key", "every\u2028key"] == [case.id for case in load_cases(path)]


def document(**changes: Any) -> dict[str, Any]:
    """Build a small valid case document with some keys replaced; None removes one."""
    base: dict[str, Any] = {
        "format_version": 1,
        "id": "x",
        "target": {"schema": "id INT", "rows": [[1]]},
        "source": {"schema": "id INT", "rows": []},
        "sql": "MERGE ...",
    }
    return {key: value for key, value in (base | changes).items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 2}, "format_version 2 is not known; this program reads version 1"),
        ({"format_version": True}, "format_version True is not known"),
        ({"sqls": "x"}, "unknown key 'sqls'; allowed are format_version"),
        ({"sql": None}, "key 'sql' is missing"),
        ({"sql": "  "}, "sql: must be text that is not empty"),
        ({"target": {"schema": "id INT"}}, "give either 'files'"),
        ({"target": {"schema": "id INT", "rows": [[1, 2]]}}, "a row must be a list of 1 cells (id), given a list of 2"),
        ({"target": {"schema": "id INT", "rows": [["1"]]}}, "'1' is no INT; allowed: an integer from -2147483648"),
        ({"target": {"schema": "id INT", "rows": [[True]]}}, "True is no INT"),
        ({"target": {"schema": "id TINYINT", "rows": [[128]]}}, "128 is no TINYINT"),
        ({"target": {"schema": "d DATE", "rows": [["2026-02-30"]]}}, "'2026-02-30' is no DATE"),
        ({"target": {"schema": "d DECIMAL(3,1)", "rows": [["1.25"]]}}, "'1.25' is no DECIMAL(3,1)"),
        ({"target": {"schema": "t TIMESTAMP_NTZ", "rows": [["2026-01-01T00:00:00Z"]]}}, "without zone"),
        ({"target": {"schema": "b BINARY", "rows": [["??"]]}}, "base64 text or null"),
        ({"target": {"schema": "m MAP<INT, INT>", "rows": [[[[None, 1]]]]}}, "whose key is not null"),
        ({"target": {"schema": "s STRUCT<a: INT>", "rows": [[{"b": 1}]]}}, "an object with the fields a"),
        ({"target": {"schema": "f FLOAT", "rows": [[1e39]]}}, "a number within the type's range"),
        ({"target": {"schema": "s STRING", "rows": [["\ud800"]]}}, "without lone surrogates"),
        ({"target": {"schema": "id INT", "rows": [], "partition_by": ["x"]}}, "'x' is no column; the columns are id"),
        ({"conf": {"a": 1}}, "must be an object of texts"),
        ({"expect": {"metrics": {"n": 1.5}}}, "must be an object of whole numbers"),
        ({"expect": {"cdf": [[1, "upsert"]]}}, "'upsert' is no change type"),
        ({"expect": {"unchanged": "yes"}}, "must be true or false"),
    ],
)
def test_bad_cases_get_one_clear_message(changes: dict[str, Any], message: str) -> None:
    """Every mistake names the place, what was found and what is allowed."""
    with pytest.raises(CaseFormatError) as raised:
        case_from_json(document(**changes), where="case.json")

    assert message in str(raised.value)
    assert str(raised.value).startswith("case.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"a": NaN}', 'NaN is not JSON; write it as text: "NaN"'),
        ('{"id": 1, "id": 2}', "key 'id' stands twice"),
        ("[1]", "must be a JSON object"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_text_that_is_no_case(text: str, message: str) -> None:
    """Broken JSON, JSON that is no object, and nesting without end are refused politely."""
    with pytest.raises(CaseFormatError) as raised:
        parse_cases(text, name="x.json", lines=False)

    assert message in str(raised.value)


def test_missing_file_is_a_format_error(tmp_path: Path) -> None:
    """A path that cannot be read is the user's mistake."""
    with pytest.raises(CaseFormatError, match=r"none\.json: cannot be read"):
        load_cases(tmp_path / "none.json")
