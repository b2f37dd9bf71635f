"""A variant: places on one axis or several, and what a case becomes there."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.errors import UserInputError
from mergecheck.harness.variants.axes import Axis, Choice
from mergecheck.harness.variants.choices import BASE_NAMES, BASE_SETTINGS, CHOICES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.harness.variants.axes import Exemption
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import Facts

VARIANT_SETTING = "mergecheck.variant"
"""In a saved case: the variant that gave another answer. Engines take no notice of it."""

_ORDER = {axis: index for index, axis in enumerate(Axis)}
_BY_NAME = {(choice.axis, choice.name): choice for choice in CHOICES}


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """Places on different axes, in the order of the axes."""

    choices: tuple[Choice, ...]

    @property
    def name(self) -> str:
        """What the command line calls it, such as ``aqe=on,join=broadcast``."""
        return ",".join(str(choice) for choice in self.choices) or "base"

    @property
    def exemptions(self) -> tuple[Exemption, ...]:
        """What the variant may change."""
        return tuple(exemption for choice in self.choices for exemption in choice.exemptions)

    def holds(self, case: Case, facts: Facts) -> bool:
        """Tell whether all places may be chosen for a case, and change something of it."""
        if not all(choice.holds(case, facts) for choice in self.choices):
            return False
        return all(Variant((choice,)).applied(case) != base_of(case) for choice in self.choices)

    def applied(self, case: Case) -> Case:
        """Return the case as it runs; a setting of the variant goes before the case's own."""
        changed = base_of(case)
        for choice in self.choices:
            changed = choice.rewrite(changed)
        settings = {name: value for choice in self.choices for name, value in choice.settings.items()}
        return replace(changed, conf={**changed.conf, **settings})

    def judged(self, case: Case) -> Case:
        """Return the case as the reference is asked: with the settings that it knows."""
        changed = without_variant(case)
        for choice in self.choices:
            changed = choice.rewrite(changed)
        settings = {name: value for choice in self.choices for name, value in choice.judged_as.items()}
        return replace(changed, conf={**changed.conf, **settings})

    def without(self, axes: Iterable[Axis]) -> Variant:
        """Return the variant with some axes back at the base."""
        gone = frozenset(axes)
        return Variant(tuple(choice for choice in self.choices if choice.axis not in gone))

    def lines(self) -> tuple[str, ...]:
        """Say of each axis where the variant goes: ``axis join: sort-merge -> broadcast``."""
        return tuple(f"axis {c.axis.value}: {BASE_NAMES[c.axis]} -> {c.name}" for c in self.choices)


def variant_of(choices: Iterable[Choice]) -> Variant:
    """Make a variant, with what its choices need; of two places on one axis the first one stays."""
    chosen: dict[Axis, Choice] = {}
    waiting = list(choices)
    while waiting:
        choice = waiting.pop(0)
        if choice.axis not in chosen:
            chosen[choice.axis] = choice
            waiting += [_BY_NAME[need] for need in choice.needs]
    return Variant(tuple(sorted(chosen.values(), key=lambda choice: _ORDER[choice.axis])))


def variant_named(name: str) -> Variant:
    """Read ``axis=place`` or several of them behind commas.

    Raises:
        UserInputError: where there is no such axis or place.
    """
    return variant_of([_choice_named(part.strip()) for part in name.split(",")])


def base_of(case: Case) -> Case:
    """Return the case where the base stands; its own settings stay."""
    plain = without_variant(case)
    return replace(plain, conf={**BASE_SETTINGS, **plain.conf})


def without_variant(case: Case) -> Case:
    """Return a saved case without the name of the variant that it was saved for."""
    return replace(case, conf={name: value for name, value in case.conf.items() if name != VARIANT_SETTING})


def _choice_named(text: str) -> Choice:
    axis, _, place = text.partition("=")
    for choice in CHOICES:
        if (choice.axis.value, choice.name) == (axis, place):
            return choice
    names = [str(choice) for choice in CHOICES]
    close = difflib.get_close_matches(text, names, n=1)
    places = [choice.name for choice in CHOICES if choice.axis.value == axis]
    allowed = (
        f"on axis {axis} there are: {', '.join(places)}" if places else f"axes: {', '.join(a.value for a in Axis)}"
    )
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UserInputError(f"no variant {text!r}; {allowed}.{hint} mergecheck variants --list shows all of them.")
