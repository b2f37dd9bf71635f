"""Column invariants, in the metadata of columns and fields (R-746)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Iterator

INVARIANT: Final = "delta.invariants"


def invariants(schema: StructType) -> Iterator[str]:
    """List the invariants of the columns and of the fields of structs; invariants of NOT NULL columns do not count.

    Raises:
        ValueError: one cannot be read.
    """
    for field in schema.fields:
        said = (field.metadata or {}).get(INVARIANT)
        if said is not None and field.nullable:
            yield expression_of(said)
        if isinstance(field.dataType, StructType):
            yield from invariants(field.dataType)


def expression_of(said: str) -> str:
    """Read the SQL text of an invariant from its JSON.

    Raises:
        ValueError: it is something else.
    """
    try:
        return str(json.loads(said)["expression"]["expression"])
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"the invariant {said}") from error
