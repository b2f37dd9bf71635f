"""Column names and aliases: plain ones first, awkward ones by a feature (R-808, R-809, R-824)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.syntax.statement import Aliases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn

# None starts with an underscore, none equals an alias, no two differ by case alone.
_AWKWARD = (
    *("a.b", "back`tick", "Upper", "order", "select", "1st"),
    *("naïve", "列", "per%cent", "it's", "matched", "values"),
    *("camelCase", "y--1", 'dou"ble', "a/b", "CAPS", "null", "x+y", "$1"),
    *("current_date", "user", "old", "new", "date", "value", "row", "count", "timestamp", "rank", "key", "type"),
)
# Names that engines give to columns of their own, except the helper columns of MERGE in Delta Lake.
_INTERNAL = (
    *("__delta_rs_source", "__delta_rs_target", "__delta_rs_path", "__delta_rs_operation", "__delta_rs_c_insert"),
    *("merge_action", "rowid", "path", "filePath", "file_row_number", "filename", "target_0", "source_row"),
)
_SPACED = ("two words", "a, b", "(x)", "k=v")
_ALIASES = st.sampled_from(
    (
        Aliases(target="t", source="s", with_as=True),
        Aliases(target="tgt", source="src"),
        Aliases(target=None, source=None),
        Aliases(target=None, source="s"),
        Aliases(target="t", source=None, with_as=True),
        Aliases(target="target", source="source"),
        Aliases(target="old", source="new"),
        Aliases(target="current", source="updates", with_as=True),
    )
)
_OFTEN = 60
_RESERVED = {"v": "_change_type", "w": "_commit_version"}
"""Names of the change feed's columns, which are ordinary names if the feed is off (R-632)."""


def draw_names(draw: DrawFn, plain: Sequence[str], features: frozenset[Feature]) -> tuple[str, ...]:
    """Draw one name per plain name, all different; without the features for names they are the plain names."""
    pools = {Feature.AWKWARD_NAMES: _AWKWARD, Feature.SPACED_NAMES: _SPACED, Feature.INTERNAL_NAMES: _INTERNAL}
    # in a case-sensitive session a stranger's case may call the function of that name
    unfit = {"user"} if Feature.CASE_SENSITIVE in features else frozenset[str]()
    pool = [name for feature, names in pools.items() if feature in features for name in names if name not in unfit]
    reserved = Feature.RESERVED_NAMES in features and Feature.CHANGE_DATA_FEED not in features
    names: list[str] = []
    for name in plain:
        free = [awkward for awkward in pool if awkward not in names]
        if reserved and name in _RESERVED and chance(draw, _OFTEN):
            names.append(_RESERVED[name])
            continue
        names.append(draw(st.sampled_from(free)) if free and chance(draw, _OFTEN) else name)
    return tuple(names)


def in_other_case(draw: DrawFn, name: str, features: frozenset[Feature], *, percent: float = _OFTEN) -> str:
    """Draw the name, or by a feature the same name in another case (R-120, R-816).

    ASCII names only: beyond ASCII, engines differ in which letters are the same.
    """
    if Feature.OTHER_CASE in features and name.isascii() and chance(draw, percent):
        return name.swapcase()
    return name


def draw_aliases(draw: DrawFn, features: frozenset[Feature]) -> Aliases:
    """Draw the aliases of both tables; a self-merge needs two different names."""
    if Feature.ALIASES not in features:
        return Aliases()
    aliases = draw(_ALIASES)
    if Feature.SELF_MERGE in features and None in (aliases.target, aliases.source):
        return Aliases(with_as=aliases.with_as)
    return aliases
