"""Swarm flags: which features a case may use (techniques T22).

A case that may use everything rarely gets deep into anything. Each case therefore draws a subset of the features
first and everything else is drawn within it. A flag shrinks to "off".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from strategies.chance import chance, pick

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn


class Feature(Enum):
    """What a case may use; the value is its name in reports and options."""

    # clauses
    MATCHED_UPDATE = "matched-update"
    MATCHED_DELETE = "matched-delete"
    INSERT = "insert"
    BY_SOURCE_UPDATE = "not-matched-by-source-update"
    BY_SOURCE_DELETE = "not-matched-by-source-delete"
    SEVERAL_CLAUSES = "several-clauses-of-a-kind"
    CONDITIONS = "conditions"
    STAR = "star-actions"
    EXPLICIT = "explicit-actions"
    EXPRESSIONS = "assigned-expressions"
    PARTIAL_INSERT = "partial-insert-lists"
    KEY_UPDATE = "key-updates"
    LONE_DELETE = "sole-unconditional-delete"
    # keys and rows
    NULL_KEYS = "null-keys"
    NULL_VALUES = "null-values"
    DUPLICATE_SOURCE_KEYS = "duplicate-source-keys"
    DUPLICATE_TARGET_ROWS = "duplicate-target-rows"
    AMBIGUOUS = "ambiguous-matches"
    EMPTY_TARGET = "empty-target"
    EMPTY_SOURCE = "empty-source"
    # ON
    SEVERAL_KEYS = "several-keys"
    NON_EQUI_ON = "non-equi-on"
    NULL_SAFE_ON = "null-safe-on"
    KEY_EXPRESSION_ON = "key-expression-on"
    TARGET_ONLY_ON = "target-only-part-of-on"
    SOURCE_ONLY_ON = "source-only-part-of-on"
    ONE_SIDED_ON = "one-sided-on"
    CONSTANT_ON = "constant-on"
    FILE_PRUNING = "file-pruning"
    SELF_MERGE = "self-merge"
    # table
    PARTITIONS = "partitions"
    AWKWARD_PARTITIONS = "awkward-partition-values"
    CHANGE_DATA_FEED = "change-data-feed"
    SEVERAL_FILES = "several-files"
    # types
    WIDE_TYPES = "wide-types"
    TIMESTAMP_NTZ = "timestamp-ntz"
    NESTED_TYPES = "nested-types"
    TYPED_KEYS = "typed-keys"
    FLOAT_KEYS = "float-keys"
    INTEGER_WIDTHS = "integer-widths"
    # names and columns
    AWKWARD_NAMES = "awkward-names"
    SPACED_NAMES = "names-with-spaces"
    OTHER_CASE = "names-in-other-case"
    COLUMN_ORDER = "columns-in-other-order"
    EXTRA_SOURCE_COLUMNS = "extra-source-columns"
    RENAMED_SOURCE_COLUMNS = "renamed-source-columns"
    MISSING_SOURCE_COLUMNS = "missing-source-columns"
    UNQUALIFIED_NAMES = "unqualified-names"
    ALIASES = "aliases"
    # session
    SETTINGS = "settings"


_F = Feature
_PERCENT = MappingProxyType(
    {
        _F.MATCHED_UPDATE: 60,
        _F.MATCHED_DELETE: 40,
        _F.INSERT: 60,
        _F.BY_SOURCE_UPDATE: 35,
        _F.BY_SOURCE_DELETE: 30,
        _F.SEVERAL_CLAUSES: 40,
        _F.CONDITIONS: 60,
        _F.STAR: 50,
        _F.EXPLICIT: 70,
        _F.EXPRESSIONS: 50,
        _F.PARTIAL_INSERT: 30,
        _F.KEY_UPDATE: 30,
        _F.LONE_DELETE: 12,
        _F.NULL_KEYS: 45,
        _F.NULL_VALUES: 65,
        _F.DUPLICATE_SOURCE_KEYS: 40,
        _F.DUPLICATE_TARGET_ROWS: 30,
        _F.AMBIGUOUS: 12,
        _F.EMPTY_TARGET: 4,
        _F.EMPTY_SOURCE: 4,
        _F.SEVERAL_KEYS: 25,
        _F.NON_EQUI_ON: 15,
        _F.NULL_SAFE_ON: 20,
        _F.KEY_EXPRESSION_ON: 10,
        _F.TARGET_ONLY_ON: 20,
        _F.SOURCE_ONLY_ON: 15,
        _F.ONE_SIDED_ON: 8,
        _F.CONSTANT_ON: 5,
        _F.FILE_PRUNING: 25,
        _F.SELF_MERGE: 3,
        _F.PARTITIONS: 35,
        _F.AWKWARD_PARTITIONS: 35,
        _F.CHANGE_DATA_FEED: 50,
        _F.SEVERAL_FILES: 70,
        _F.WIDE_TYPES: 35,
        _F.TIMESTAMP_NTZ: 15,
        _F.NESTED_TYPES: 25,
        _F.TYPED_KEYS: 25,
        _F.FLOAT_KEYS: 10,
        _F.INTEGER_WIDTHS: 20,
        _F.AWKWARD_NAMES: 22,
        _F.SPACED_NAMES: 12,
        _F.OTHER_CASE: 15,
        _F.COLUMN_ORDER: 25,
        _F.EXTRA_SOURCE_COLUMNS: 25,
        _F.RENAMED_SOURCE_COLUMNS: 20,
        _F.MISSING_SOURCE_COLUMNS: 15,
        _F.UNQUALIFIED_NAMES: 20,
        _F.ALIASES: 25,
        _F.SETTINGS: 40,
    }
)  # fmt: skip - one line per group reads as the table that it is

# without these the first feature would mostly lead to nothing
_NEEDS = (
    (_F.LONE_DELETE, _F.MATCHED_DELETE),
    (_F.LONE_DELETE, _F.DUPLICATE_SOURCE_KEYS),
    (_F.AMBIGUOUS, _F.DUPLICATE_SOURCE_KEYS),
    (_F.AMBIGUOUS, _F.CONDITIONS),
    (_F.FILE_PRUNING, _F.CONDITIONS),
    (_F.FILE_PRUNING, _F.SEVERAL_FILES),
    (_F.FILE_PRUNING, _F.NULL_VALUES),
)
# beside the second the first feature has no effect: several matches are allowed, or every file is read
_SPOILS = (
    (_F.AMBIGUOUS, _F.LONE_DELETE),
    (_F.FILE_PRUNING, _F.BY_SOURCE_UPDATE),
    (_F.FILE_PRUNING, _F.BY_SOURCE_DELETE),
)
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


CLAUSE_FEATURES = (
    Feature.INSERT,
    Feature.MATCHED_UPDATE,
    Feature.MATCHED_DELETE,
    Feature.BY_SOURCE_UPDATE,
    Feature.BY_SOURCE_DELETE,
)
"""The features that stand for clauses, simplest first: a case has at least one of them (R-106)."""

DEFAULT_PROFILE = Profile()


def uses(draw: DrawFn, features: frozenset[Feature], feature: Feature, *, percent: float = 85) -> bool:
    """Draw whether an enabled feature is used here.

    Drawn next to what it leads to, so that the shrinker can take both away at once; the flag then goes by itself.
    """
    return chance(draw, percent if feature in features else 0)


def draw_features(draw: DrawFn, profile: Profile) -> frozenset[Feature]:
    """Draw the subset of features that one case may use."""
    density = pick(draw, _DENSITIES)
    enabled = {feature for feature in Feature if _enabled(draw, feature, profile, density)}
    enabled -= {spoiler for feature, spoiler in _SPOILS if feature in enabled}
    if not enabled.intersection(CLAUSE_FEATURES):
        allowed = [feature for feature in CLAUSE_FEATURES if feature not in profile.disabled]
        enabled.add(pick(draw, allowed))
    for feature, needed in _NEEDS:
        if feature in enabled and needed not in profile.disabled:
            enabled.add(needed)
    return frozenset(enabled)


def _enabled(draw: DrawFn, feature: Feature, profile: Profile, density: float) -> bool:
    if feature in profile.disabled:
        return False
    if feature in profile.percent:
        return chance(draw, profile.percent[feature])
    return chance(draw, min(_MOST, _PERCENT[feature] * density))


@st.composite
def feature_sets(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> frozenset[Feature]:
    """Draw sets of features as cases use them; at least one stands for a clause."""
    return draw_features(draw, profile)
