"""A variant: places on one axis or several, and the transformation of a case to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.configuration.similar_names import did_you_mean
from mergecheck.harness.engines.spark_versions.plugins import known_plugin
from mergecheck.harness.variants.axes.axis import Axis, AxisValue
from mergecheck.harness.variants.axes.axis_values import AXIS_VALUES, BASE_NAMES, BASE_SETTINGS
from mergecheck.harness.variants.axes.plugin_value import plugin_value
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.harness.variants.axes.axis import Exemption
    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts

VARIANT_SETTING = "mergecheck.variant"
"""In a saved case: the variant that gave another answer. Engines take no notice of it."""

_ORDER = {axis: index for index, axis in enumerate(Axis)}
_BY_NAME = {(axis_value.axis, axis_value.name): axis_value for axis_value in AXIS_VALUES}


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """Places on different axes, in the order of the axes."""

    axis_values: tuple[AxisValue, ...]

    @property
    def name(self) -> str:
        """The variant in the command line's notation, such as ``aqe=on,join=broadcast``."""
        return ",".join(str(axis_value) for axis_value in self.axis_values) or "base"

    @property
    def exemptions(self) -> tuple[Exemption, ...]:
        """The changes that the variant may cause."""
        return tuple(exemption for axis_value in self.axis_values for exemption in axis_value.exemptions)

    def holds(self, case: Case, facts: Facts) -> bool:
        """Return whether all places may be chosen for a case, and change something of it."""
        if not all(axis_value.holds(case, facts) for axis_value in self.axis_values):
            return False
        return all(Variant((axis_value,)).applied(case) != base_of(case) for axis_value in self.axis_values)

    def applied(self, case: Case) -> Case:
        """Return the case as it runs; a setting of the variant goes before the case's own."""
        changed = base_of(case)
        for axis_value in self.axis_values:
            changed = axis_value.rewrite(changed)
        settings = {name: value for axis_value in self.axis_values for name, value in axis_value.settings.items()}
        return replace(changed, conf={**changed.conf, **settings})

    def judged(self, case: Case) -> Case:
        """Return the case as the reference is asked: with the settings that it knows."""
        changed = without_variant(case)
        for axis_value in self.axis_values:
            changed = axis_value.rewrite(changed)
        settings = {name: value for axis_value in self.axis_values for name, value in axis_value.judged_as.items()}
        return replace(changed, conf={**changed.conf, **settings})

    def without(self, axes: Iterable[Axis]) -> Variant:
        """Return the variant with some axes back at the base."""
        gone = frozenset(axes)
        return Variant(tuple(axis_value for axis_value in self.axis_values if axis_value.axis not in gone))

    def lines(self) -> tuple[str, ...]:
        """Return a line per axis with the variant's place: ``axis join: sort-merge -> broadcast``."""
        return tuple(f"axis {c.axis.value}: {BASE_NAMES[c.axis]} -> {c.name}" for c in self.axis_values)


def variant_of(axis_values: Iterable[AxisValue]) -> Variant:
    """Make a variant, with what its axis_values need; of two places on one axis the first one stays."""
    chosen: dict[Axis, AxisValue] = {}
    waiting = list(axis_values)
    while waiting:
        axis_value = waiting.pop(0)
        if axis_value.axis not in chosen:
            chosen[axis_value.axis] = axis_value
            waiting += [_BY_NAME[need] for need in axis_value.needs]
    return Variant(tuple(sorted(chosen.values(), key=lambda axis_value: _ORDER[axis_value.axis])))


def variant_named(name: str) -> Variant:
    """Read ``axis=place`` or several of them behind commas; a plugin may be named alone.

    Raises:
        UserInputError: if there is no such axis or place.
    """
    return variant_of([_choice_named(part.strip()) for part in name.split(",")])


def base_of(case: Case) -> Case:
    """Return the case with the base's value on every axis; its own settings stay."""
    plain = without_variant(case)
    return replace(plain, conf={**BASE_SETTINGS, **plain.conf})


def without_variant(case: Case) -> Case:
    """Return a saved case without the name of the variant that it was saved for."""
    return replace(case, conf={name: value for name, value in case.conf.items() if name != VARIANT_SETTING})


def _choice_named(text: str) -> AxisValue:
    plugin = known_plugin(text.removeprefix(f"{Axis.PLUGIN.value}="))
    if plugin is not None:
        return plugin_value(plugin)
    axis, _, place = text.partition("=")
    for axis_value in AXIS_VALUES:
        if (axis_value.axis.value, axis_value.name) == (axis, place):
            return axis_value
    names = [str(axis_value) for axis_value in AXIS_VALUES]
    places = [axis_value.name for axis_value in AXIS_VALUES if axis_value.axis.value == axis]
    allowed = (
        f"on axis {axis} there are: {', '.join(places)}" if places else f"axes: {', '.join(a.value for a in Axis)}"
    )
    told = f"no variant {text!r}; {allowed}. {did_you_mean(text, names)}".rstrip()
    raise UserInputError(f"{told} mergecheck variants --list shows all of them.")
