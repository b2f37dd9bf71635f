"""Values of a case replaced by others, so that equality and order stay and nothing of the values does.

All values of one type are ranked together, in target and source alike, with the literals of the statement. So keys
stay equal where they were equal. NULL, booleans, 0, NaN, the infinities and the empty text stay as they are.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from mergecheck.harness.properties.merge_text import sql_tokens
from mergecheck.model.schema_json import is_constraint
from mergecheck.model.types.data_types import (
    ArrayType,
    AtomicName,
    DecimalType,
    Field,
    MapType,
    Schema,
    StructType,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.types.data_types import DataType

_EPOCH = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
# Types whose values may stand for each other; finer than the families of ``properties``: a moment is no local one.
_FAMILIES = {
    AtomicName.TINYINT: "integer",
    AtomicName.SMALLINT: "integer",
    AtomicName.INT: "integer",
    AtomicName.BIGINT: "integer",
    AtomicName.FLOAT: "float",
    AtomicName.DOUBLE: "float",
    AtomicName.STRING: "text",
    AtomicName.BINARY: "binary",
    AtomicName.DATE: "date",
    AtomicName.TIMESTAMP: "timestamp",
    AtomicName.TIMESTAMP_NTZ: "local timestamp",
}
_COMPARISONS = frozenset({"=", "==", "<", ">", "<=", ">=", "<>", "!=", "<=>"})
_NUMBER = re.compile(r"\d+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Anonymiser:
    """What every value becomes.

    Attributes:
        ranks: by family of types: the new value of each.
        kept: columns, in small letters, whose values stay.
    """

    ranks: Mapping[str, Mapping[Any, Any]]
    kept: frozenset[str]

    def rows(self, rows: Iterable[Row], schema: Schema) -> tuple[Row, ...]:
        """Replace the values of rows."""
        return tuple(
            tuple(
                value if column.name.lower() in self.kept else self.value(value, column.type)
                for value, column in zip(row, schema.columns, strict=True)
            )
            for row in rows
        )

    def value(self, value: Value, data_type: DataType) -> Value:
        """Replace one value, nested ones member by member."""
        return _mapped(value, data_type, lambda one, kind: self.ranks.get(_family(kind), {}).get(one, one))

    def sql(self, text: str, *, numbers: bool) -> str:
        """Replace the literals of a text of SQL, and leave its comments out.

        Args:
            text: a statement or an expression.
            numbers: also replace whole numbers that stand beside a comparison.
        """
        tokens = sql_tokens(text)
        parts: list[str] = []
        for i, token in enumerate(tokens):
            raw = text[token.start : token.end + 1]
            beside = {tokens[j].text for j in (i - 1, i + 1) if 0 <= j < len(tokens)}
            if raw[:1] in ("'", '"') and raw[-1:] == raw[:1]:
                raw = _quoted(self._text(token.text))
            elif numbers and _NUMBER.fullmatch(raw) and beside & _COMPARISONS:
                raw = str(self.ranks.get("integer", {}).get(int(raw), int(raw)))
            gap = i > 0 and tokens[i - 1].end + 1 < token.start
            parts.append((" " if gap else "") + raw)
        return "".join(parts)

    def _text(self, text: str) -> str:
        texts = self.ranks.get("text", {})
        if text in texts:
            return str(texts[text])
        if _DATE.fullmatch(text) and (day := _day(text)) in (dates := self.ranks.get("date", {})):
            return str(dates[day])
        return text

    def case(self, case: Case, *, numbers: bool) -> Case:
        """Replace the values of a case, in its tables, statement, constraints and expressions of columns."""
        said = {key: text for key, text in case.target.properties.items() if key.startswith("delta.")}
        properties = {k: self.sql(text, numbers=numbers) if is_constraint(k) else text for k, text in said.items()}
        target = replace(
            case.target,
            schema=self._schema(case.target.schema, numbers=numbers),
            files=tuple(self.rows(file, case.target.schema) for file in case.target.files),
            properties=properties,
        )
        source = (
            None if case.source is None else replace(case.source, rows=self.rows(case.source.rows, case.source.schema))
        )
        tables = {n: replace(table, rows=self.rows(table.rows, table.schema)) for n, table in case.tables.items()}
        return replace(case, target=target, source=source, tables=tables, sql=self.sql(case.sql, numbers=numbers))

    def _schema(self, schema: Schema, *, numbers: bool) -> Schema:
        def said(text: str | None) -> str | None:
            return None if text is None else self.sql(text, numbers=numbers)

        return Schema(
            tuple(
                replace(c, default=said(c.default), generated=said(c.generated), invariant=said(c.invariant))
                for c in schema.columns
            )
        )


def anonymiser(
    tables: Iterable[tuple[Iterable[Row], Schema]], texts: Iterable[str], kept: frozenset[str]
) -> Anonymiser:
    """Rank the values of tables and the literals of texts of SQL.

    Args:
        tables: rows with their schemas.
        texts: the statement, and other texts of SQL.
        kept: columns whose values stay, in small letters.
    """
    found: dict[str, set[Any]] = {}
    for rows, schema in tables:
        for row in rows:
            for value, column in zip(row, schema.columns, strict=True):
                for family, each in _atoms(value, column):
                    found.setdefault(family, set()).add(each)
    for text in texts:
        for token in sql_tokens(text):
            raw = text[token.start : token.end + 1]
            if raw[:1] in ("'", '"'):
                is_day = _DATE.fullmatch(token.text) and (day := _day(token.text)) is not None
                found.setdefault("date" if is_day else "text", set()).add(day if is_day else token.text)
            elif _NUMBER.fullmatch(raw):
                found.setdefault("integer", set()).add(int(raw))
    return Anonymiser({family: _ranked(family, values) for family, values in found.items()}, kept)


def literal_texts(text: str) -> tuple[str, ...]:
    """Return the literals of a text of SQL as they are written."""
    raw = (text[token.start : token.end + 1] for token in sql_tokens(text))
    return tuple(each for each in raw if not each.startswith("`") and {"'", '"'} & {*each})


def _atoms(value: Value, column: Field) -> Iterator[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []

    def keep(one: Value, kind: DataType) -> Value:
        found.append((_family(kind), one))
        return one

    _mapped(value, column.type, keep)
    yield from ((family, one) for family, one in found if family)


def _mapped(value: Value, data_type: DataType, change: Callable[[Value, DataType], Value]) -> Value:
    if value is None:
        return None
    if isinstance(data_type, StructType):
        return tuple(_mapped(v, f.type, change) for v, f in zip(value, data_type.fields, strict=True))
    if isinstance(data_type, ArrayType):
        return tuple(_mapped(each, data_type.element, change) for each in value)
    if isinstance(data_type, MapType):
        return tuple((_mapped(k, data_type.key, change), _mapped(v, data_type.value, change)) for k, v in value)
    return change(value, data_type)


def _family(data_type: DataType) -> str:
    if isinstance(data_type, DecimalType):
        return f"decimal {data_type.scale}"
    name = getattr(data_type, "name", None)
    return _FAMILIES.get(name, "") if isinstance(name, AtomicName) else ""


def _ranked(family: str, values: set[Any]) -> dict[Any, Any]:
    """Give every value of a family another one in the same order; a number becomes no larger than it was."""
    if family == "integer" or family.startswith("decimal") or family == "float":
        ordered = [value for value in values if not isinstance(value, float) or math.isfinite(value)]
        ranks = {v: i for i, v in enumerate(sorted(v for v in ordered if v > 0), start=1)}
        ranks |= {v: -i for i, v in enumerate(sorted((v for v in ordered if v < 0), reverse=True), start=1)}
        if family.startswith("decimal"):
            return {value: Decimal(rank).scaleb(-int(family.split()[1])) for value, rank in ranks.items()}
        return {value: float(rank) for value, rank in ranks.items()} if family == "float" else dict(ranks)
    numbered = list(enumerate(sorted(value for value in values if value not in ("", b"")), start=1))
    width = len(str(len(numbered)))
    made: dict[str, Callable[[int], Any]] = {
        "text": lambda i: f"v{i:0{width}}",
        "binary": lambda i: i.to_bytes(4, "big"),
        "date": lambda i: (_EPOCH + dt.timedelta(days=i)).date(),
        "timestamp": lambda i: _EPOCH + dt.timedelta(hours=i),
        "local timestamp": lambda i: (_EPOCH + dt.timedelta(hours=i)).replace(tzinfo=None),
    }
    return {value: made[family](i) for i, value in numbered}


def _day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
