"""Profiles: the bounds of a case, and the set of features that it may use."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices import chance, draw_part
from mergecheck.strategies.combinations import EVERYDAY, RARELY_TOGETHER
from mergecheck.strategies.features import (
    ALWAYS_ON,
    BROUGHT,
    CLAUSE_FEATURES,
    CONFLICTS,
    NEEDS,
    PARTS,
    SPARK_FORMS,
    TABLE_FEATURES,
    WRITTEN_FORMS,
    Feature,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from hypothesis.strategies import DrawFn

_DENSITIES = st.sampled_from((0.6, 1.0, 1.0, 1.5))
_MAX_PERCENT = 97
_FAVOURED_PERCENT = 80
_COMBINATIONS, _EVERYDAY = (
    st.sampled_from([each for each in combinations for _ in range(each.weight)])
    for combinations in (RARELY_TOGETHER, EVERYDAY)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The bounds and options for the cases of a run.

    Attributes:
        max_rows: most rows of either table.
        max_files: most files of the target.
        max_clauses: most clauses of one kind.
        disabled: features that no case uses, for an engine that lacks them.
        percent: how many of a hundred cases may use a feature, in place of its ``probability_percent``.
        function_calls_percent: how many of a hundred cases may call functions that only Spark can evaluate.
        combinations_percent: how many of a hundred cases have features that are ``RARELY_TOGETHER``; more of them are
            refused than of others.
        everyday_percent: how many of a hundred cases are one of the ``EVERYDAY`` statements.
        table_features: the members of ``TABLE_FEATURES`` that a case may use.
        written_forms: the members of ``WRITTEN_FORMS`` that a case may use.
        boundary: large tables have this number of rows, or one row more or less; None for the sizes of batches that
            engines are known to have.
    """

    max_rows: int = 20
    max_files: int = 5
    max_clauses: int = 4
    disabled: frozenset[Feature] = frozenset()
    percent: Mapping[Feature, float] = field(default_factory=lambda: MappingProxyType({}))
    function_calls_percent: float = 0
    combinations_percent: float = 0
    everyday_percent: float = 0
    table_features: frozenset[Feature] = frozenset()
    written_forms: frozenset[Feature] = frozenset()
    boundary: int | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that leave nothing to draw."""
        for name in ("max_rows", "max_files", "max_clauses"):
            if (given := getattr(self, name)) < 1:
                raise ValueError(f"Profile({name}={given}): must be at least 1")
        if self.boundary is not None and self.boundary < (least := 2 * self.max_rows):
            raise ValueError(f"Profile(boundary={self.boundary}): must be at least {least}, twice max_rows")
        if self.disabled.issuperset(CLAUSE_FEATURES):
            raise ValueError("Profile(disabled=...) leaves no clause: keep at least one clause feature enabled")

    @property
    def off(self) -> frozenset[Feature]:
        """The disabled features, and those that would write them into a statement."""
        off = self.disabled
        while more := {feature for feature, parts in PARTS.items() if off.intersection(parts)} - off:
            off |= more
        return off

    def without(self, *features: Feature) -> Profile:
        """Return this profile with more features disabled."""
        return replace(self, disabled=self.disabled.union(features))

    def favouring(self, *features: Feature, percent: float = 90) -> Profile:
        """Return this profile with some features on in ``percent`` of a hundred cases."""
        return replace(self, percent=MappingProxyType({**self.percent, **dict.fromkeys(features, percent)}))

    def favours(self, feature: Feature) -> bool:
        """Return whether most cases are to use a feature."""
        return self.percent.get(feature, 0) >= _FAVOURED_PERCENT

    def around(self, boundary: int) -> Profile:
        """Return this profile with most tables of about ``boundary`` rows, half of them in parts of so many."""
        parts = self.favouring(Feature.ROW_GROUPS, Feature.SOURCE_BATCHES, percent=50)
        return replace(parts.favouring(Feature.LARGE_TABLES), boundary=boundary)


DEFAULT_PROFILE = Profile()
FULL_PROFILE = Profile(
    combinations_percent=42,
    everyday_percent=12,
    table_features=frozenset(TABLE_FEATURES),
    written_forms=frozenset(WRITTEN_FORMS) - frozenset(SPARK_FORMS),
)
"""A fuzz run's profile for an engine that takes every feature, but functions and queries that only Spark evaluates."""


@st.composite
def feature_sets(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> frozenset[Feature]:
    """Sets of features that one case may use; at least one feature leads to clauses.

    Each feature is on or off by itself, in some sets with a higher probability than in others. Shrinks to INSERT alone,
    beside the features that are always on.
    """
    density, off = draw(_DENSITIES), profile.off
    # drawn for disabled features too, so that disabling a feature changes no other one
    brought = set(BROUGHT) - profile.percent.keys()
    others = brought.union(ALWAYS_ON, TABLE_FEATURES, WRITTEN_FORMS)
    drawn_here = [feature for feature in Feature if feature not in others]
    enabled = {feature for feature in drawn_here if chance(draw, _percent(feature, profile, density, off))}
    favoured = {feature for feature in profile.percent if profile.favours(feature)}
    avoided = {feature for feature, percent in profile.percent.items() if percent < feature.probability_percent}
    enabled = _brought_together(draw, enabled, profile, off | avoided, favoured)
    # what is avoided stays away: a feature that would turn it on gives way
    enabled -= {each for each in enabled - favoured if (avoided - enabled).intersection(NEEDS.get(each, ()))}
    # and what is favoured stays: a feature that would turn it off gives way
    enabled -= {each for each in enabled - favoured if (favoured & enabled).intersection(CONFLICTS.get(each, ()))}
    enabled -= {other for feature in enabled for other in CONFLICTS.get(feature, ())}
    if not enabled.intersection(CLAUSE_FEATURES):
        enabled.add(draw(st.sampled_from([each for each in CLAUSE_FEATURES if each not in off])))
    for feature, needed in NEEDS.items():
        if feature in enabled:
            enabled.update(each for each in needed if each not in off)
    if Feature.EXPLICIT in off:  # there is no third form of UPDATE and INSERT
        enabled.add(Feature.STAR)
    return frozenset(enabled).union(ALWAYS_ON) - off


def _brought_together(
    draw: DrawFn,
    enabled: set[Feature],
    profile: Profile,
    unwanted: AbstractSet[Feature],
    favoured: AbstractSet[Feature],
) -> set[Feature]:
    """Draw, for a part of the cases, features that hardly meet by chance, or the features of an everyday statement.

    They are left out if they would bring something unwanted, or keep something favoured away.
    """
    percents = (profile.combinations_percent, profile.everyday_percent)
    part = draw_part(draw, *percents) if any(percents) else None
    if part is None:
        return enabled
    chosen = draw((_COMBINATIONS, _EVERYDAY)[part])
    if chosen.on & unwanted or chosen.off & favoured:
        return enabled
    return (enabled | chosen.on) - chosen.off


def _percent(feature: Feature, profile: Profile, density: float, off: frozenset[Feature]) -> float:
    if feature in off:
        return 0
    return profile.percent.get(feature, min(_MAX_PERCENT, feature.probability_percent * density))


def written_percent(profile: Profile, feature: Feature) -> float:
    """Return how many of a hundred cases may use a member of ``WRITTEN_FORMS``."""
    if feature not in profile.written_forms or feature in profile.off:
        return 0
    return profile.percent.get(feature, feature.probability_percent)


def uses(draw: DrawFn, features: frozenset[Feature], feature: Feature, *, percent: float = 85) -> bool:
    """Draw whether the case uses a feature here, if it may use it; shrinks to False.

    Call it next to the effect of the feature, so that the shrinker removes both together.
    """
    return chance(draw, percent if feature in features else 0)
