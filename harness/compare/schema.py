"""Schemas: names in order, types, what may be NULL, and the values that columns have of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.verdict import Check, Mismatch
from mergecheck.model.formatting import counted, fit
from mergecheck.model.schema_json import as_nullable
from mergecheck.model.types.data_types import ArrayType, Field, MapType, Schema, StructType, declared_ddl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.types.data_types import DataType


def schema_mismatches(wanted: Schema, found: Schema, *, against: str, complete: bool) -> tuple[Mismatch, ...]:
    """Compare two schemas; the first difference in kind is the one reported.

    Names are compared letter by letter, since existing columns keep the target's spelling (R-120, R-234). Types are
    compared at every depth, the names of struct fields included.

    Args:
        wanted: the schema that the table must have.
        found: the schema that the table has.
        against: who wants it.
        complete: whether ``wanted`` is the whole schema. A reference gives every column and nested field. The author of
            a case's ``expect`` may leave out NOT NULL, DEFAULT and GENERATED, so there only those that he wrote and the
            table lost is a mismatch.
    """
    if wanted.names != found.names:
        kind = "column_order" if sorted(wanted.names) == sorted(found.names) else "column_names"
        return (
            _mismatch(against, kind, [f"{against}: {', '.join(wanted.names)}", f"engine: {', '.join(found.names)}"]),
        )
    bare = zip(as_nullable(wanted).columns, as_nullable(found).columns, strict=True)
    if lines := [_type_line(a, b, against) for a, b in bare if a.type != b.type]:
        return (_mismatch(against, "column_types", lines),)
    pairs = list(zip(wanted.columns, found.columns, strict=True))
    if lines := [line for a, b in pairs for line in _null_lines(a, b, against, complete=complete)]:
        return (_mismatch(against, "nullability", lines),)
    if lines := [line for a, b in pairs for line in _value_lines(a, b, against, complete=complete)]:
        return (_mismatch(against, "column_values", lines),)
    return ()


def _type_line(wanted: Field, found: Field, against: str) -> str:
    return f"{wanted.name}: {against} {wanted.type.ddl()}, engine {found.type.ddl()}"


def _null_lines(wanted: Field, found: Field, against: str, *, complete: bool) -> Iterator[str]:
    """Compare NOT NULL at every depth of two columns that have one type otherwise."""
    for (path, ours), (_, theirs) in zip(_fields(wanted), _fields(found), strict=True):
        differs = ours.nullable != theirs.nullable if complete else theirs.nullable and not ours.nullable
        if differs:
            yield f"{path}: {against} {_nullable(ours)}, engine {_nullable(theirs)}"


def _value_lines(wanted: Field, found: Field, against: str, *, complete: bool) -> Iterator[str]:
    """Compare default and generation expression, which a merge never changes: the texts must be the same.

    Values that an identity column generates stay, too, except its high-water mark, which has its own invariant (R-226).
    """
    texts = {
        "DEFAULT": (wanted.default, found.default),
        "GENERATED ALWAYS AS": (wanted.generated, found.generated),
        "identity": (_identity(wanted), _identity(found)),
        "INVARIANT": (wanted.invariant, found.invariant),
        "length": (_limit(wanted), _limit(found)),
    }
    for word, (ours, theirs) in texts.items():
        if ours != theirs and (complete or ours is not None):
            yield f"{wanted.name}: {against} {_own_value(word, ours)}, engine {_own_value(word, theirs)}"


def _identity(field: Field) -> str | None:
    return None if field.identity is None else replace(field.identity, mark=None).ddl()


def _limit(field: Field) -> str | None:
    return declared_ddl(field.type, field.limits) if field.limits else None


def _fields(field: Field, prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Yield a field and everything nested in it, each with its path."""
    path = prefix + field.name
    yield path, field
    for nested in _nested(field.type):
        yield from _fields(nested, f"{path}.")


def _nested(data_type: DataType) -> tuple[Field, ...]:
    if isinstance(data_type, StructType):
        return data_type.fields
    if isinstance(data_type, ArrayType):
        return _nested(data_type.element)
    if isinstance(data_type, MapType):
        return (*_nested(data_type.key), *_nested(data_type.value))
    return ()


def _nullable(field: Field) -> str:
    return "may be NULL" if field.nullable else "NOT NULL"


def _own_value(word: str, text: str | None) -> str:
    return f"no {word}" if text is None else f"{word} {text}"


def _mismatch(against: str, kind: str, lines: list[str]) -> Mismatch:
    shown = tuple(fit(line) for line in lines[:5])
    rest = (f"and {counted(len(lines) - 5, 'more column')}",) if len(lines) > 5 else ()  # noqa: PLR2004 - as much as a person reads
    return Mismatch(check=Check.SCHEMA, against=against, kind=kind, lines=shown + rest)
