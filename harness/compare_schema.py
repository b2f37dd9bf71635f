"""Schemas: names in order, types, and what may be NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.value_text import fit
from harness.verdict import Check, Mismatch

if TYPE_CHECKING:
    from reference.types import Field, Schema


def schema_mismatches(wanted: Schema, found: Schema, *, against: str, nullability: bool) -> tuple[Mismatch, ...]:
    """Compare two schemas; the first difference in kind is the one reported.

    Names are compared letter by letter, since existing columns keep the target's spelling (R-120). Types are compared
    at every depth, the names of struct fields included.

    Args:
        wanted: the schema that the table must have.
        found: the schema that the table has.
        against: who wants it.
        nullability: whether columns must agree in NOT NULL too. A reference states it for every column. The author of a
            case's ``expect`` says NOT NULL or nothing, so there only a NOT NULL that was lost is a mismatch.
    """
    if wanted.names != found.names:
        kind = "column_order" if sorted(wanted.names) == sorted(found.names) else "column_names"
        return (
            _mismatch(against, kind, [f"{against}: {', '.join(wanted.names)}", f"engine: {', '.join(found.names)}"]),
        )
    pairs = list(zip(wanted.columns, found.columns, strict=True))
    if lines := [_type_line(a, b, against) for a, b in pairs if a.type != b.type]:
        return (_mismatch(against, "column_types", lines),)
    if lines := [_null_line(a, b, against) for a, b in pairs if _null_differs(a, b, nullability=nullability)]:
        return (_mismatch(against, "nullability", lines),)
    return ()


def _null_differs(wanted: Field, found: Field, *, nullability: bool) -> bool:
    return wanted.nullable != found.nullable if nullability else found.nullable and not wanted.nullable


def _type_line(wanted: Field, found: Field, against: str) -> str:
    return f"{wanted.name}: {against} {wanted.type.ddl()}, engine {found.type.ddl()}"


def _null_line(wanted: Field, found: Field, against: str) -> str:
    return f"{wanted.name}: {against} {_nullable(wanted)}, engine {_nullable(found)}"


def _nullable(field: Field) -> str:
    return "may be NULL" if field.nullable else "NOT NULL"


def _mismatch(against: str, kind: str, lines: list[str]) -> Mismatch:
    shown = tuple(fit(line) for line in lines[:5])
    rest = (f"and {len(lines) - 5} more columns",) if len(lines) > 5 else ()  # noqa: PLR2004 - what a person reads
    return Mismatch(check=Check.SCHEMA, against=against, kind=kind, lines=shown + rest)
