"""How large a case may be: a larger one is refused when it is read, by one message, before its SQL is parsed.

Below the limits, reading and evaluating a case takes seconds. They are far above the cases of a person or a strategy.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mergecheck.model.errors import CaseFormatError
from mergecheck.model.types.data_types import ArrayType, Field, MapType, StructType

if TYPE_CHECKING:
    from mergecheck.model.case import Case
    from mergecheck.model.types.data_types import DataType, Schema

MAX_DOCUMENT: Final = 64 * 2**20
"""Characters of the JSON text of one case."""
MAX_CHARACTERS: Final = 1_000_000
"""Of the statement and all expressions of columns and constraints together."""
MAX_WORDS: Final = 15_000
"""Words, numbers, texts and symbols of all these together; a sum of 3,700 terms has as many."""
MAX_FIELDS: Final = 2_000
"""Columns and fields of one table, at every depth."""
MAX_DEPTH: Final = 50
"""Types inside types; Arrow has 64."""
MAX_TABLES: Final = 20
"""Tables beside target and source."""
MAX_CELLS: Final = 100_000
"""Rows of one table times its columns."""

_WORD: Final = re.compile(r"\w+|'(?:[^'\\]|\\.)*'|[^\w\s]", re.DOTALL)


def check_document(text: str, where: str) -> None:
    """Look at the size of a JSON text.

    Raises:
        CaseFormatError: it is too large.
    """
    _require("characters of JSON", len(text), MAX_DOCUMENT, where)


def check_schema(schema: Schema, where: str) -> None:
    """Look at the size of a table's columns.

    Raises:
        CaseFormatError: there are too many columns and fields, or types are too deep inside each other.
    """
    num_fields, deepest = 0, 0
    waiting: list[tuple[int, DataType | Field]] = [(0, column) for column in schema.columns]
    while waiting:
        depth, part = waiting.pop()
        num_fields, deepest = num_fields + isinstance(part, Field), max(deepest, depth)
        if isinstance(part, Field):
            waiting.append((depth + 1, part.type))
        elif isinstance(part, StructType):
            waiting += [(depth, field) for field in part.fields]
        elif isinstance(part, ArrayType):
            waiting.append((depth + 1, part.element))
        elif isinstance(part, MapType):
            waiting += [(depth + 1, part.key), (depth + 1, part.value)]
    _require("columns and fields", num_fields, MAX_FIELDS, where)
    _require("types inside each other", deepest, MAX_DEPTH, where)


def check_case(case: Case, where: str) -> None:
    """Look at the size of a case's tables and texts.

    Raises:
        CaseFormatError: something is too large.
    """
    texts = [case.sql, *case.target.properties.values()]
    for column in case.target.schema.columns:
        texts += [text for text in (column.default, column.generated, column.invariant) if text is not None]
    _require("characters of SQL", sum(map(len, texts)), MAX_CHARACTERS, where)
    num_words = sum(1 for text in texts for _ in _WORD.finditer(text))
    _require("words and symbols of SQL", num_words, MAX_WORDS, where)
    sizes = {"target": (len(case.target.rows), case.target.schema)}
    if case.source is not None:
        sizes["source"] = (len(case.source.rows), case.source.schema)
    _require("tables beside target and source", len(case.tables), MAX_TABLES, where)
    sizes |= {f"tables, {name}": (len(table.rows), table.schema) for name, table in case.tables.items()}
    for name, (num_rows, schema) in sizes.items():
        _require("cells", num_rows * max(1, len(schema.columns)), MAX_CELLS, f"{where}, {name}")


def _require(what: str, given: int, allowed: int, where: str) -> None:
    if given > allowed:
        raise CaseFormatError(
            f"{where}: has {given:,} {what}; a case may have {allowed:,}. Make it smaller: mergecheck checks large "
            "tables by its verb scale"
        )
