"""Swarm flags: which features a case may use (techniques T22).

A case that may use everything rarely gets deep into anything. Each case therefore draws a subset of the features
first and everything else is drawn within it. A flag shrinks to "off".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices.chance import chance, chances, pick
from mergecheck.strategies.choices.flags import CLAUSE_FEATURES, NEEDS, PERCENT, SPOILS, Feature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn


__all__ = ["CLAUSE_FEATURES", "DEFAULT_PROFILE", "Feature", "Profile", "draw_features", "feature_sets", "uses"]

_DENSITIES = (0.6, 1.0, 1.0, 1.5)
_MOST = 97


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a run wants of its cases.

    Attributes:
        max_rows: most rows of either table.
        max_files: most files of the target.
        max_clauses: most clauses of one kind.
        disabled: features that no case uses, for an engine that lacks them.
        percent: how often a feature is on, in place of the default; 100 is "nearly always" (techniques T26).
    """

    max_rows: int = 20
    max_files: int = 5
    max_clauses: int = 4
    disabled: frozenset[Feature] = frozenset()
    percent: Mapping[Feature, float] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Refuse bounds that leave nothing to draw."""
        for name in ("max_rows", "max_files", "max_clauses"):
            if (given := getattr(self, name)) < 1:
                raise ValueError(f"Profile({name}={given}): must be at least 1")
        if self.disabled.issuperset(CLAUSE_FEATURES):
            raise ValueError("Profile(disabled=...) leaves no clause: keep at least one clause feature enabled")

    def without(self, *features: Feature) -> Profile:
        """Return this profile with more features disabled."""
        return replace(self, disabled=self.disabled.union(features))

    def favouring(self, *features: Feature, percent: float = 90) -> Profile:
        """Return this profile with some features on in about ``percent`` of a hundred cases."""
        return replace(self, percent=MappingProxyType({**self.percent, **dict.fromkeys(features, percent)}))


DEFAULT_PROFILE = Profile()


def uses(draw: DrawFn, features: frozenset[Feature], feature: Feature, *, percent: float = 85) -> bool:
    """Draw whether an enabled feature is used here.

    Drawn next to what it leads to, so that the shrinker can take both away at once; the flag then goes by itself.
    """
    return chance(draw, percent if feature in features else 0)


def draw_features(draw: DrawFn, profile: Profile) -> frozenset[Feature]:
    """Draw the subset of features that one case may use."""
    density = pick(draw, _DENSITIES)
    # in one choice, and also for what is disabled: disabling a feature then changes no other one
    answers = chances(draw, [_percent(feature, profile, density) for feature in Feature])
    enabled = {feature for feature, enabled in zip(Feature, answers, strict=True) if enabled}
    enabled -= {spoiler for feature, spoiler in SPOILS if feature in enabled}
    if not enabled.intersection(CLAUSE_FEATURES):
        allowed = [feature for feature in CLAUSE_FEATURES if feature not in profile.disabled]
        enabled.add(pick(draw, allowed))
    for feature, needed in NEEDS:
        if feature in enabled and needed not in profile.disabled:
            enabled.add(needed)
    return frozenset(enabled)


def _percent(feature: Feature, profile: Profile, density: float) -> float:
    if feature in profile.disabled:
        return 0
    return profile.percent.get(feature, min(_MOST, PERCENT[feature] * density))


@st.composite
def feature_sets(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> frozenset[Feature]:
    """Draw sets of features as cases use them; at least one stands for a clause."""
    return draw_features(draw, profile)
