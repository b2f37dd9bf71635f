"""The axes that flip an outcome: the smallest set by delta debugging: leaving out any axis restores the outcome."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from mergecheck.harness.variants.variant import PLUGIN, Variant, plugin_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.harness.engines.spark_versions.plugins import Plugin
    from mergecheck.model.axis import Transformation


def bisect(variant: Variant, flips: Callable[[Variant], bool]) -> Variant:
    """Reduce a variant that flips the outcome to the places that cause it.

    Args:
        variant: one that flips.
        flips: returns whether a variant of some of its places shows the same difference; called once for each.

    Returns:
        A variant that flips, and no longer does without any of its places. Where two sets of places would do,
        either.
    """
    asked: dict[str, bool] = {}

    def does(values: Sequence[Transformation]) -> bool:
        candidate = variant.of(values)
        if candidate.name not in asked:
            asked[candidate.name] = bool(values) and flips(candidate)
        return asked[candidate.name]

    left = list(variant.values)
    num_parts = 2
    while len(left) > 1:
        parts = _parts(left, min(num_parts, len(left)))
        rests = [[value for value in left if value not in part] for part in parts]
        smaller = next((part for part in parts if does(part)), None)
        if smaller is not None:
            left, num_parts = smaller, 2
            continue
        rest = next((rest for rest in rests if does(rest)), None)
        if rest is not None:
            left, num_parts = rest, max(2, num_parts - 1)
            continue
        if num_parts >= len(left):
            break
        num_parts = min(len(left), num_parts * 2)
    return variant.of(left)


def mending_switches(variant: Variant, plugin: Plugin, flips: Callable[[Variant], bool]) -> tuple[str, ...]:
    """Find the parts of a plugin whose removal gives the outcome without the plugin.

    Args:
        variant: one that flips the outcome, with the plugin among its places.
        plugin: its switches are tried one by one, each alone.
        flips: returns whether a variant flips.

    Returns:
        The settings that switch off such a part, as ``name=value``.
    """
    others = tuple(value for value in variant.values if value.axis is not PLUGIN)
    return tuple(
        f"{name}={value}"
        for name, value in plugin.switches.items()
        if not flips(variant.of((*others, plugin_value(plugin, {name: value}))))
    )


def _parts(values: list[Transformation], number: int) -> list[list[Transformation]]:
    """Cut a list into so many runs of nearly equal length."""
    bounds = [len(values) * i // number for i in range(number + 1)]
    return [values[low:high] for low, high in itertools.pairwise(bounds)]
