"""The axes of an engine; a variant, which is values on one axis or several; and a case under it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from mergecheck.harness.configuration.similar_names import did_you_mean
from mergecheck.harness.engines.spark_versions.plugins import PLUGIN_SETTING, known_plugin
from mergecheck.harness.oracles.transformations.domains import having
from mergecheck.harness.oracles.transformations.tables import TABLE_AXES, WRITTEN
from mergecheck.harness.properties.vocabulary import PROPERTIES
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.axis import Axis, MayChange, Transformation
from mergecheck.strategies import Feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.engines.spark_versions.plugins import Plugin
    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts

VARIANT_SETTING = "mergecheck.variant"
"""In a saved case: the variant that gave another answer. Engines take no notice of it."""
PLUGIN = "plugin"
"""The axis of plugins of Spark: the same merge without a plugin and under it."""

_NOT = "not "
_FEATURES = frozenset(feature.value for feature in Feature)
_PREDICATES = {name: having(name) for known in PROPERTIES for name in (known, _NOT + known)}


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """Values on different axes, in the order of the axes.

    Attributes:
        values: the changes.
        base: the settings of the base, which the variant has too where it does not change them.
        base_names: the base's value on each axis of the variant, in words.
    """

    values: tuple[Transformation, ...]
    base: Mapping[str, str] = field(default_factory=dict)
    base_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The variant in the command line's notation, such as ``aqe=on,join=broadcast``."""
        return ",".join(map(str, self.values)) or "base"

    @property
    def may_change(self) -> tuple[MayChange, ...]:
        """The observables that the variant may change."""
        return tuple(allowed for value in self.values for allowed in value.may_change)

    def holds(self, case: Case, facts: Facts) -> bool:
        """Return whether all values may be chosen for a case, and change something of it.

        A value that another one needs may be what the case has already.
        """
        if not all(value.applies_to(case, facts) for value in self.values):
            return False
        return not self.unchanging(case)

    def unchanging(self, case: Case) -> tuple[Transformation, ...]:
        """Return the values that change nothing of a case, by its tables or by its own settings."""
        base = self.base_of(case)
        return tuple(value for value in self.asked if self.of([value]).applied(case) == base)

    @property
    def asked(self) -> tuple[Transformation, ...]:
        """The values without those that others of them need."""
        needed = {need for value in self.values for need in value.needs}
        return tuple(value for value in self.values if str(value) not in needed)

    def base_of(self, case: Case) -> Case:
        """Return the case with the base's value on every axis; its own settings stay."""
        plain = without_variant(case)
        return replace(plain, conf={**self.base, **plain.conf})

    def applied(self, case: Case) -> Case:
        """Return the case as it runs; a setting of the variant goes before the case's own."""
        changed = self.base_of(case)
        for value in self.values:
            changed = value.rewrite(changed)
        settings = {name: text for value in self.values for name, text in value.settings.items()}
        return replace(changed, conf={**changed.conf, **settings})

    def judged(self, case: Case) -> Case:
        """Return the case as the reference is asked: with the settings that it knows."""
        changed = without_variant(case)
        for value in self.values:
            changed = value.rewrite(changed)
        settings = {name: text for value in self.values for name, text in value.judged_as.items()}
        return replace(changed, conf={**changed.conf, **settings})

    def of(self, values: Iterable[Transformation]) -> Variant:
        """Return a variant of other values on the same axes."""
        return replace(self, values=tuple(values))

    def lines(self) -> tuple[str, ...]:
        """Return a line per axis with the variant's value: ``axis join: sort-merge -> broadcast``."""
        return tuple(f"axis {v.axis}: {self.base_names.get(v.axis, 'unset')} -> {v.name}" for v in self.values)


class EngineAxes:
    """All axes along which an engine's merges may vary: those that it declares, and the axes of the tables.

    Args:
        declared: by the engine (``Capabilities.axes``).
        plugin: of Spark, under which the engine can be run besides.

    Raises:
        UserInputError: two axes have one name, or an axis names a property or a value that does not exist.
    """

    def __init__(self, declared: Iterable[Axis] = (), plugin: Plugin | None = None) -> None:
        self.axes = (*declared, *TABLE_AXES, *(() if plugin is None else (_plugin_axis(plugin, {}),)))
        self._order = {axis.name: index for index, axis in enumerate(self.axes)}
        if len(self._order) < len(self.axes):
            names = [axis.name for axis in self.axes]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise UserInputError(f"the engine declares axes of a name that is taken: {', '.join(twice)}")
        for axis in self.axes:
            if unknown := [name for name in axis.applies_to if name not in _PREDICATES]:
                raise UserInputError(
                    f"axis {axis.name} of the engine: applies_to names no property {unknown[0]!r}. "
                    f"{did_you_mean(unknown[0], PROPERTIES)} Properties: {', '.join(sorted(PROPERTIES))}".strip()
                )
        self.values = tuple(value for axis in self.axes for value in axis.transformations(_PREDICATES))
        self.base = {name: text for axis in self.axes for name, text in axis.settings_of_base.items()}
        self._by_name: dict[str, Transformation] = {str(value): value for value in self.values}
        self._base_names = {axis.name: axis.base_name for axis in self.axes}
        for value in self.values:
            if unknown := [need for need in value.needs if need not in self._by_name]:
                raise UserInputError(
                    f"axis {value.axis} of the engine: it needs {unknown[0]}, which no axis has. "
                    f"{did_you_mean(unknown[0], self._by_name)}".strip()
                )

    @cached_property
    def singles(self) -> tuple[Variant, ...]:
        """One variant for each value, with the values that it needs."""
        return tuple(self.variant_of([value]) for value in self.values)

    def base_of(self, case: Case) -> Case:
        """Return the case with the base's value on every axis; its own settings stay."""
        return self.variant_of(()).base_of(case)

    def variant_of(self, values: Iterable[Transformation]) -> Variant:
        """Make a variant, with what its values need; of two values on one axis the first one stays."""
        chosen: dict[str, Transformation] = {}
        waiting = list(values)
        while waiting:
            value = waiting.pop(0)
            if value.axis not in chosen:
                chosen[value.axis] = value
                waiting += [self._by_name[need] for need in value.needs]
        ordered = sorted(chosen.values(), key=lambda value: self._order[value.axis])
        return Variant(tuple(ordered), self.base, self._base_names)

    def before(self, variant: Variant) -> Variant:
        """Return the variant of the needs of those values that switch a path: the paths are compared with its paths."""
        switching = (value for value in variant.values if value.paths)
        return self.variant_of([self._by_name[need] for value in switching for need in value.needs])

    def favoured(self, variants: Iterable[Variant]) -> tuple[frozenset[str], frozenset[str]]:
        """Return the features of random cases to draw more often for variants, and those to draw seldom.

        They are those that the axes name, and those that lead to the properties that the axes name. What one axis
        favours and another one avoids is drawn as often as usual.
        """
        named = {name for axis in self._asked(variants) for name in (*axis.applies_to, *axis.favours)}
        leading = {each for name in named if name in PROPERTIES for each in PROPERTIES[name].features}
        plain = {name.removeprefix(_NOT) for name in named}
        names = named.union(each for each in leading if each.removeprefix(_NOT) not in plain)
        avoided = _FEATURES.intersection(name.removeprefix(_NOT) for name in names if name.startswith(_NOT))
        wanted = _FEATURES.intersection(names)
        return wanted - avoided, avoided - wanted

    def asking_for(self, variants: Iterable[Variant], features: frozenset[str]) -> dict[str, tuple[str, ...]]:
        """Return the axes of variants that favour some features, or a property that one of these leads to."""
        asked = self._asked(variants)
        leading = {axis.name: {*axis.applies_to, *axis.favours} for axis in asked}
        for named in leading.values():
            named |= {each for name in named & PROPERTIES.keys() for each in PROPERTIES[name].features}
        return {one: tuple(name for name, named in leading.items() if one in named) for one in sorted(features)}

    def favours(self, variants: Iterable[Variant], case: Case, facts: Facts) -> bool:
        """Return whether a case has all properties that the axes of some variant favour."""
        return any(
            all(
                _PREDICATES[name](case, facts)
                for axis in self._asked([variant])
                for name in axis.favours
                if name in _PREDICATES
            )
            for variant in variants
        )

    def _asked(self, variants: Iterable[Variant]) -> tuple[Axis, ...]:
        """Return the axes of variants, without those that only come along: a case need not have what they favour."""
        names = {value.axis for variant in variants for value in variant.asked}
        return tuple(axis for axis in self.axes if axis.name in names)

    def lacking(self, name: str) -> str:
        """Return the first axis in the name of a variant that the engine does not have; empty if it has all."""
        axes = (part.strip().partition("=")[0] for part in name.split(","))
        return next((axis for axis in axes if axis not in self._order), "")

    def named(self, name: str) -> Variant:
        """Read ``axis=value`` or several of them behind commas; a plugin may be named alone.

        Raises:
            UserInputError: if there is no such axis or value.
        """
        return self.variant_of([self._value_named(part.strip()) for part in name.split(",")])

    def _value_named(self, text: str) -> Transformation:
        plugin = known_plugin(text.removeprefix(f"{PLUGIN}="))
        found = self._by_name.get(text if plugin is None else f"{PLUGIN}={plugin.name}")
        if found is not None:
            return found
        if plugin is not None:
            raise UserInputError(f"variant {text!r} needs a plugin of Spark: start the engine with it, by --variant")
        axis = text.partition("=")[0]
        values = [value.name for value in self.values if value.axis == axis]
        allowed = f"on axis {axis} there are: {', '.join(values)}" if values else f"axes: {', '.join(self._order)}"
        message = f"no variant {text!r}; {allowed}. {did_you_mean(text, list(self._by_name))}".rstrip()
        raise UserInputError(f"{message} mergecheck variants --list shows all of them.")


def axes_of(engine: Engine, plugin: Plugin | None = None) -> EngineAxes:
    """Return the axes of an engine.

    Raises:
        UserInputError: as for ``EngineAxes``.
    """
    return EngineAxes(engine.capabilities.axes, plugin)


def without_variant(case: Case) -> Case:
    """Return a saved case without the name of the variant that it was saved for."""
    return replace(case, conf={name: value for name, value in case.conf.items() if name != VARIANT_SETTING})


def plugin_value(plugin: Plugin, switched_off: Mapping[str, str] | None = None) -> Transformation:
    """Make the value of the axis for a plugin.

    Args:
        plugin: its shuffle may write other files; nothing else may change.
        switched_off: settings that switch off parts of it.
    """
    (value,) = _plugin_axis(plugin, switched_off or {}).transformations({})
    return value


def _plugin_axis(plugin: Plugin, switched_off: Mapping[str, str]) -> Axis:
    value = Transformation(
        name=plugin.name,
        sentence=f"Spark runs under the plugin {plugin.name}",
        settings={PLUGIN_SETTING: plugin.name, **switched_off},
        may_change=(MayChange(WRITTEN, ("R-542", "R-543", "R-550")),),
        plan=plugin.proof,
    )
    return Axis(PLUGIN, base="none", values=(value,))
