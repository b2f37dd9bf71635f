"""Column names and aliases: plain ones first, awkward ones by flag (R-808, R-809, R-824)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.choices.features import Feature
from mergecheck.strategies.syntax.statement import Aliases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn

# None starts with an underscore, none equals an alias, no two differ by case alone.
_AWKWARD = (
    *("a.b", "back`tick", "Upper", "order", "select", "1st"),
    *("naïve", "列", "per%cent", "it's", "matched", "values"),
    *("camelCase", "y--1", 'dou"ble', "a/b", "CAPS", "null", "x+y", "$1"),
)
# What engines call columns of their own; merge's helper columns in Delta Lake are left out.
_INTERNAL = (
    *("__delta_rs_source", "__delta_rs_target", "__delta_rs_path", "__delta_rs_operation", "__delta_rs_c_insert"),
    *("merge_action", "rowid", "path", "filePath", "file_row_number", "filename", "target_0", "source_row"),
)
_SPACED = ("two words", "a, b", "(x)", "k=v")
_ALIASES = (
    Aliases(target="t", source="s", with_as=True),
    Aliases(target="tgt", source="src"),
    Aliases(target=None, source=None),
    Aliases(target=None, source="s"),
    Aliases(target="t", source=None, with_as=True),
    Aliases(target="target", source="source"),
)
_OFTEN = 60
_RESERVED = {"v": "_change_type", "w": "_commit_version"}
"""Names of the change feed's columns: ordinary ones where the feed is off (R-632)."""


def draw_names(draw: DrawFn, plain: Sequence[str], features: frozenset[Feature]) -> tuple[str, ...]:
    """Draw one name per plain name, all different; without a flag they are the plain names."""
    pool = (_AWKWARD if Feature.AWKWARD_NAMES in features else ()) + (
        _SPACED if Feature.SPACED_NAMES in features else ()
    )
    pool += _INTERNAL if Feature.INTERNAL_NAMES in features else ()
    reserved = Feature.RESERVED_NAMES in features and Feature.CHANGE_DATA_FEED not in features
    names: list[str] = []
    for name in plain:
        free = [awkward for awkward in pool if awkward not in names]
        if reserved and name in _RESERVED and chance(draw, _OFTEN):
            names.append(_RESERVED[name])
            continue
        names.append(pick(draw, free) if free and chance(draw, _OFTEN) else name)
    return tuple(names)


def in_other_case(draw: DrawFn, name: str, features: frozenset[Feature], *, percent: float = _OFTEN) -> str:
    """Return the name, or by flag the same name in another case (R-120, R-816).

    Only ASCII names: what equals what beyond ASCII is each engine's own table.
    """
    if Feature.OTHER_CASE in features and name.isascii() and chance(draw, percent):
        return name.swapcase()
    return name


def draw_aliases(draw: DrawFn, features: frozenset[Feature]) -> Aliases:
    """Draw how the statement calls its tables; a self-merge needs two different names."""
    if Feature.ALIASES not in features:
        return Aliases()
    aliases = pick(draw, _ALIASES)
    if Feature.SELF_MERGE in features and None in (aliases.target, aliases.source):
        return Aliases(with_as=aliases.with_as)
    return aliases
