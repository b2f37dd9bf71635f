"""Every text of a case, with its meaning to its readers.

The parts of a case are walked by their dataclasses. A text at a place that is not listed here is of no known kind, and
the case is refused: no session runs a new field of a case before the field is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from mergecheck.model.case import Case, Expectation, Source, Target
from mergecheck.model.storage import TargetLayout
from mergecheck.model.types.data_types import Field, Schema, TextLimit

if TYPE_CHECKING:
    from collections.abc import Iterator


class TextKind(Enum):
    """The kind of a text in a case."""

    STATEMENT = auto()
    """a MERGE"""
    CONDITION = auto()
    """an expression over the columns of its table"""
    DEFAULT = auto()
    """an expression without columns"""
    SETTINGS = auto()
    """names and values of settings"""
    PROPERTIES = auto()
    """names and values of table properties, some of which are expressions"""
    NAME = auto()
    """a name of a column or field, which is quoted wherever SQL is made of it"""
    DATA = auto()
    """values: they go over in files and record batches, or are written as literals"""
    LABEL = auto()
    """read by the harness only"""
    UNKNOWN = auto()
    """a text at a place that is not listed"""


PLACES: Final[Mapping[type, Mapping[str, TextKind]]] = {
    Case: {"id": TextKind.LABEL, "sql": TextKind.STATEMENT, "conf": TextKind.SETTINGS, "tables": TextKind.NAME},
    Target: {
        "files": TextKind.DATA,
        "partition_by": TextKind.NAME,
        "properties": TextKind.PROPERTIES,
        "transactions": TextKind.DATA,
    },
    Source: {"rows": TextKind.DATA},
    Expectation: {
        "rows": TextKind.DATA,
        "metrics": TextKind.LABEL,
        "cdf": TextKind.DATA,
        "error": TextKind.LABEL,
    },
    TargetLayout: {
        "added_columns": TextKind.NAME,
        "cluster_by": TextKind.NAME,
        "dropped_columns": TextKind.NAME,
        "widened_columns": TextKind.NAME,
    },
    Field: {
        "name": TextKind.NAME,
        "default": TextKind.DEFAULT,
        "generated": TextKind.CONDITION,
        "invariant": TextKind.CONDITION,
    },
    TextLimit: {"path": TextKind.NAME},
}
"""The fields of a case's dataclasses that hold texts. Other fields hold none, or dataclasses that hold them."""

_CALLED: Final = {"sql": "statement", "generated": "generation expression"}
_EVALUATED: Final = frozenset({TextKind.STATEMENT, TextKind.CONDITION, TextKind.DEFAULT, TextKind.UNKNOWN})


@dataclass(frozen=True, slots=True)
class CaseText:
    """A text of a case that may be evaluated, or that is of no known kind.

    Attributes:
        place: for messages, such as ``the default of 'v'``.
        columns: names of the columns that its table has.
    """

    kind: TextKind
    place: str
    text: str
    columns: tuple[str, ...] = ()


def texts_of(case: Case) -> Iterator[CaseText]:
    """Give the texts of a case that may be evaluated: the statement, and all expressions at every depth."""
    return _texts(case, None, "the case", ())


def _texts(value: object, kind: TextKind | None, place: str, columns: tuple[str, ...]) -> Iterator[CaseText]:
    if isinstance(value, str):
        if kind is None or kind in _EVALUATED:
            yield CaseText(kind or TextKind.UNKNOWN, place, value, columns)
    elif kind is TextKind.DATA or value is None or isinstance(value, int | Enum):
        return
    elif isinstance(value, tuple):
        for member in value:
            yield from _texts(member, kind, place, columns)
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from _texts(key, kind, place, columns)
            yield from _texts(member, kind, place, columns)
    elif is_dataclass(value):
        columns = value.names if isinstance(value, Schema) else columns
        of = f" of {value.name!a}" if isinstance(value, Field) else ""
        known = PLACES.get(type(value), {})
        for field in fields(value):
            named = f"the {_CALLED.get(field.name, field.name)}{of}"
            yield from _texts(getattr(value, field.name), known.get(field.name), named, columns)
    else:
        yield CaseText(TextKind.UNKNOWN, place, repr(value), columns)
