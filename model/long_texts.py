"""Texts that are longer than their declared types allow (R-822)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import ELEMENT, KEY, VALUE, ArrayType, MapType, StructType, limits_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType, TextLimit


@dataclass(frozen=True, slots=True)
class LongText:
    """A text that is too long.

    Attributes:
        path: where it is, from the column on.
    """

    path: str
    limit: TextLimit
    characters: int


def long_texts(value: Value, data_type: DataType, limits: Sequence[TextLimit], path: str) -> Iterator[LongText]:
    """List the texts in a value that are too long; ``path`` is the name of its column."""
    if value is None or not limits:
        return
    yield from (LongText(path, own, len(value)) for own in limits if not own.path and len(value) > own.length)
    if isinstance(data_type, StructType):
        for member, field in zip(value, data_type.fields, strict=True):
            yield from long_texts(member, field.type, limits_below(limits, field.name), f"{path}.{field.name}")
    elif isinstance(data_type, ArrayType):
        for member in value:
            yield from long_texts(member, data_type.element, limits_below(limits, ELEMENT), f"{path}.{ELEMENT}")
    elif isinstance(data_type, MapType):
        for key, member in value:
            yield from long_texts(key, data_type.key, limits_below(limits, KEY), f"{path}.{KEY}")
            yield from long_texts(member, data_type.value, limits_below(limits, VALUE), f"{path}.{VALUE}")
