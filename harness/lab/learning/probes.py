"""The probes: tiny cases, each with one thing that an engine may refuse."""

from __future__ import annotations

import datetime as dt
import tomllib
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib import resources
from typing import TYPE_CHECKING, Any

from mergecheck.model.case import Case, Source, Target
from mergecheck.model.case_id import with_content_id
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.model.case import Row, Value

_MOMENT = dt.datetime(2020, 1, 1, 12, 30)  # noqa: DTZ001 - of a type without a zone
_VALUES: dict[str, tuple[Value, Value]] = {
    "BOOLEAN": (True, False),
    "TINYINT": (1, 2),
    "SMALLINT": (1, 2),
    "INT": (1, 2),
    "BIGINT": (1, 2),
    "FLOAT": (0.5, 1.5),
    "DOUBLE": (0.5, 1.5),
    "DECIMAL(10,2)": (Decimal("1.00"), Decimal("2.50")),
    "STRING": ("a", "b"),
    "BINARY": (b"a", b"b"),
    "DATE": (dt.date(2020, 1, 1), dt.date(2021, 2, 3)),
    "TIMESTAMP": (_MOMENT.replace(tzinfo=dt.UTC), _MOMENT.replace(year=2021, tzinfo=dt.UTC)),
    "TIMESTAMP_NTZ": (_MOMENT, _MOMENT.replace(year=2021)),
    "STRUCT<a: INT>": ((1,), (2,)),
    "ARRAY<INT>": ((1,), (2, 3)),
    "MAP<STRING, INT>": ((("a", 1),), (("b", 2),)),
}
_NESTED = ("STRUCT", "ARRAY", "MAP")
_FEATURES = {"TIMESTAMP_NTZ": "timestamp-ntz", "TINYINT": "narrow-integers", "SMALLINT": "narrow-integers"}
_KEY_FEATURES = {"FLOAT": "float-keys", "DOUBLE": "float-keys"}
_UPSERT = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
_COLUMNS = "k INT, v STRING"
_OLD = ((1, "a"), (2, "b"))
_NEW = ((2, "x", 7), (3, "y", 8))
_ON, _USING = "t.k = s.k", "source s"
_OPERANDS = parse_schema("k INT, i INT, d DOUBLE, t STRING, b BOOLEAN, day DATE, a ARRAY<INT>")
_OPERAND_ROW = (2, 4, 2.5, "12", True, dt.date(2020, 3, 1), (7, 8))


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One thing that an engine may refuse.

    Attributes:
        group: such as ``type as key``. name: of the feature tried.
        features: names of the features of random cases that it belongs to.
    """

    group: str
    name: str
    case: Case
    features: tuple[str, ...] = ()


def probes() -> tuple[Probe, ...]:
    """Return all probes. The reference predicts each of them, and none must fail."""
    document = tomllib.loads((resources.files(__package__) / "probes.toml").read_text(encoding="utf-8"))
    return (*_types(), *_statements(document), *_functions(document["functions"]))


def _types() -> Iterator[Probe]:
    for ddl, (old, new) in _VALUES.items():
        is_nested = ddl.startswith(_NESTED)
        features = ("nested-types",) if is_nested else (_FEATURES[ddl],) if ddl in _FEATURES else ()
        if not ddl.startswith("MAP"):  # maps do not compare
            schema = parse_schema(f"k {ddl}, v INT")
            target = Target(schema=schema, files=(((old, 1),),))
            case = _case(target, Source(schema=schema, rows=((old, 2), (new, 3))), _UPSERT)
            of_keys = (_KEY_FEATURES[ddl],) if ddl in _KEY_FEATURES else features
            yield Probe(group="type as key", name=ddl, case=case, features=of_keys)
        schema = parse_schema(f"k INT, v {ddl}")
        target = Target(schema=schema, files=(((1, old),),))
        case = _case(target, Source(schema=schema, rows=((1, new), (2, old))), _UPSERT)
        yield Probe(group="type as value", name=ddl, case=case, features=features)
        if not is_nested:  # Delta has no such partitions
            target = replace(target, partition_by=("v",))
            case = _case(target, Source(schema=schema, rows=((2, new),)), _UPSERT)
            yield Probe(group="type as partition", name=ddl, case=case, features=("partitions",))


def _statements(document: dict[str, Any]) -> Iterator[Probe]:
    for group in ("clause", "table", "setting"):
        for one in document[group]:
            source = parse_schema(one.get("source", _COLUMNS))
            old, new = _rows(one.get("target_rows", _OLD)), _rows(one.get("source_rows", _NEW))
            case = _case(
                Target(
                    schema=parse_schema(one.get("target", _COLUMNS)),
                    files=(old,) if old else (),
                    properties=one.get("properties", {}),
                ),
                Source(schema=source, rows=tuple(row[: len(source.columns)] for row in new)),
                one["clauses"],
                on=one.get("on", _ON),
                using=one.get("using", _USING),
                words="WITH SCHEMA EVOLUTION " if one.get("evolution") else "",
            )
            case = replace(case, conf=one.get("conf", {}))
            yield Probe(group=group, name=one["name"], case=case, features=tuple(one["features"]))


def _rows(listed: Sequence[Sequence[Any]]) -> tuple[Row, ...]:
    """Give rows as a case has them; a list inside of a row is a struct."""
    return tuple(tuple(_rows([cell])[0] if isinstance(cell, list) else cell for cell in row) for row in listed)


def _functions(by_type: dict[str, list[str]]) -> Iterator[Probe]:
    source = Source(schema=_OPERANDS, rows=(_OPERAND_ROW,))
    for ddl, calls in by_type.items():
        target = Target(schema=parse_schema(f"k INT, r {ddl}"), files=(((1, None),),))
        for call in calls:
            case = _case(target, source, f"WHEN NOT MATCHED THEN INSERT (k, r) VALUES (s.k, {call})")
            yield Probe(group="function", name=call, case=case)


def _case(target: Target, source: Source, clauses: str, *, on: str = _ON, using: str = _USING, words: str = "") -> Case:
    sql = f"MERGE {words}INTO target t USING {using} ON {on} {clauses}"
    return with_content_id(Case(id="", target=target, source=source, sql=sql))
