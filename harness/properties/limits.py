"""Limits that make a run of random cases meaningful: enough cases verified, and few known deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

DEFAULT_FLOOR = 0.6
DEFAULT_MAX_DEVIATING = 0.5


class Shares(Protocol):
    """The shares of a run's cases that limits are about."""

    @property
    def verified_share(self) -> float:
        """Verified cases among those that show no known deviation."""

    @property
    def deviating_share(self) -> float:
        """Cases that show a known deviation, among all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A run that misses a limit is inconclusive.

    Attributes:
        floor: minimum share of verified cases among those that show no known deviation.
        max_deviating: maximum share of cases that show a known deviation, among all.
    """

    floor: float = DEFAULT_FLOOR
    max_deviating: float = DEFAULT_MAX_DEVIATING

    def missed(self, counts: Shares, *, prefix: str = "--") -> tuple[str, ...]:
        """List the limits that a run misses, a sentence each; nothing if it keeps all.

        Args:
            counts: the run's statistics.
            prefix: the beginning of the names of options.
        """
        verified, deviating = counts.verified_share, counts.deviating_share
        found = []
        if verified < self.floor:
            found.append(f"{percent(verified)} of the cases were verified, below {prefix}floor {percent(self.floor)}")
        if deviating > self.max_deviating:
            found.append(
                f"{percent(deviating)} of the cases show known deviations, above "
                f"{prefix}max-deviating {percent(self.max_deviating)}"
            )
        return tuple(found)


def percent(share: float) -> str:
    """Write a share with at most one decimal, such as 60% or 0.5%."""
    return f"{100 * share:.1f}".removesuffix(".0") + "%"
