"""Changes under which a merge must answer the same: one change, and an axis of several that an engine declares.

A transformation changes the tables or the statement of a case, or the settings under which an engine runs it. As a
metamorphic relation it needs no reference; as a value of an axis it is one configuration that ``variants`` tries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts


@dataclass(frozen=True, slots=True)
class MayChange:
    """The observables that a transformation may change; everything else must stay.

    Attributes:
        names: of metrics, of the observables ``commit`` and ``path``, and of classes of errors that may appear or
            disappear.
        rules: of the specification that allow it, if any.
    """

    names: frozenset[str]
    rules: tuple[str, ...] = ()


def every_case(_case: Case, _facts: Facts) -> bool:
    """Leave no case out."""
    return True


def unchanged(case: Case) -> Case:
    """Leave the tables and the statement as they are."""
    return case


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transformation:
    """A change after which a merge must answer the same.

    Attributes:
        name: of the value, or of the relation.
        sentence: the change in words.
        applies_to: for which cases it may be chosen. domain: the same in words.
        rewrite: changes the tables or the statement.
        settings: for the engine. judged_as: those among them that change the reference's prediction, too.
        may_change: observables that it may change; none by default.
        needs: names of values, as ``axis=value``, without which it would have no effect; they are taken along.
        plan: operators of Spark; at least one must occur in some executed plan of a run.
        paths: of the engine (``Outcome.paths``), which it is meant to switch.
        axis: the name of the axis on which it is a value, which the axis sets; empty for a relation.
    """

    name: str
    sentence: str
    domain: str = "every case"
    applies_to: Callable[[Case, Facts], bool] = every_case
    rewrite: Callable[[Case], Case] = unchanged
    settings: Mapping[str, str] = field(default_factory=dict)
    judged_as: Mapping[str, str] = field(default_factory=dict)
    may_change: tuple[MayChange, ...] = ()
    needs: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    axis: str = ""

    def __str__(self) -> str:
        """Return the value in the command line's notation."""
        return f"{self.axis}={self.name}"


@dataclass(frozen=True, slots=True)
class Axis:
    """A switch of an engine that changes how a merge runs, and never its answer.

    An engine declares its axes in ``Capabilities.axes``. ``mergecheck variants`` runs cases with the base's value and
    with each of the others, and compares; ``mergecheck fuzz`` draws the settings. The engine finds the setting in the
    case's ``conf``.

    Attributes:
        name: of the axis, and of its setting unless ``setting`` names another. A setting of an engine's own has a dot
            in its name and does not begin with ``spark.``.
        base: the value by which others are judged, which the base run sets; None if the base leaves the setting out.
        values: the other values; or a mapping of names for all values to the setting's values, whose base is set
            only if the mapping has it. A ``Transformation`` may change more than one setting, or the case.
        setting: see ``name``.
        sentence: the effect of the switch, as ``--list`` shows it.
        may_change: observables that it may change: names of metrics, ``commit``, ``path``, classes of errors.
        applies_to: names of properties that a case must have (``harness.properties.vocabulary.PROPERTIES``), or, after
            ``not``, must not have; other cases would show nothing.
        needs: values of other axes (``axis: value``) or further settings without which it has no effect.
        favours: features of random cases (``mergecheck.Profile``) that its path needs, such as ``several-files``, or,
            after ``not``, that keep it from being taken; also properties as in ``applies_to``, which cases should have.
        paths: names in ``Outcome.paths`` that it switches; if none of them changes in a whole run, the run warns.
        base_settings: settings of the base; by default the one that ``base`` gives.
        drawn: whether random cases (``mergecheck fuzz``) carry the setting.
    """

    name: str
    _: KW_ONLY
    base: str | None = None
    values: tuple[str | Transformation, ...] | Mapping[str, str] = ()
    setting: str = ""
    sentence: str = ""
    may_change: tuple[str | MayChange, ...] = ()
    applies_to: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    favours: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    base_settings: Mapping[str, str] | None = None
    drawn: bool = True

    @property
    def base_name(self) -> str:
        """The base's value in words."""
        return "unset" if self.base is None else self.base

    @property
    def texts(self) -> Mapping[str, str]:
        """The values of the setting by their names, with the base's if the base sets it."""
        if isinstance(self.values, Mapping):
            return self.values
        texts = [value for value in self.values if isinstance(value, str)]
        with_base = [self.base, *texts] if texts and self.base is not None else texts
        return {text.replace(",", "+"): text for text in with_base}  # commas separate the values of a variant

    @property
    def settings_of_base(self) -> Mapping[str, str]:
        """The settings that the base run has."""
        if self.base_settings is not None:
            return self.base_settings
        text = None if self.base is None else self.texts.get(self.base.replace(",", "+"))
        return {} if text is None else {self.setting or self.name: text}

    @property
    def domain(self) -> Mapping[str, tuple[str, ...]]:
        """The setting with its values for random cases, the base's first; empty if they do not carry it."""
        return {self.setting or self.name: tuple(self.texts.values())} if self.drawn and self.texts else {}

    def transformations(self, predicates: Mapping[str, Callable[[Case, Facts], bool]]) -> tuple[Transformation, ...]:
        """Return the values other than the base.

        Args:
            predicates: by the names that ``applies_to`` may have.
        """
        others = ((name, text) for name, text in self.texts.items() if name != self.base_name.replace(",", "+"))
        made = (self._transformation(name, text, predicates) for name, text in others)
        given = () if isinstance(self.values, Mapping) else self.values
        return (*made, *(replace(value, axis=self.name) for value in given if isinstance(value, Transformation)))

    def _transformation(
        self, name: str, text: str, predicates: Mapping[str, Callable[[Case, Facts], bool]]
    ) -> Transformation:
        holding = tuple(predicates[each] for each in self.applies_to)
        names = frozenset(allowed for allowed in self.may_change if isinstance(allowed, str))
        return Transformation(
            axis=self.name,
            name=name,
            sentence=self.sentence or f"{self.setting or self.name} is {text}",
            domain=", ".join(self.applies_to) or "every case",
            applies_to=lambda case, facts: all(holds(case, facts) for holds in holding),
            settings={self.setting or self.name: text},
            may_change=(
                *((MayChange(names),) if names else ()),
                *(allowed for allowed in self.may_change if isinstance(allowed, MayChange)),
            ),
            needs=tuple(f"{axis}={value}" for axis, value in self.needs.items()),
            paths=self.paths,
        )


def wrong_axis(axis: Axis) -> str | None:
    """Return which part of an axis is of another type than it must be, and of which; None if none is."""
    if type(axis.name) is not str or not axis.name or set(axis.name) & set("=, "):
        return "axes: the name of an axis must be a text without '=', ',' and spaces"
    if not (axis.base is None or type(axis.base) is str):
        return f"axes: base of {axis.name} must be a text, or None if the base leaves the setting out"
    if isinstance(axis.values, Mapping):
        is_right = all(type(name) is str and type(text) is str for name, text in axis.values.items())
    else:
        is_right = type(axis.values) is tuple and all(type(v) is str or type(v) is Transformation for v in axis.values)
    if not is_right or not axis.values:
        return f"axes: values of {axis.name} must be a tuple of texts, or a mapping of names to texts, and not empty"
    for name in ("applies_to", "favours", "paths"):
        value = getattr(axis, name)
        if type(value) is not tuple or not all(type(each) is str for each in value):
            return f"axes: {name} of {axis.name} must be a tuple of texts"
    if type(axis.may_change) is not tuple or not all(type(each) in (str, MayChange) for each in axis.may_change):
        return f"axes: may_change of {axis.name} must be a tuple of texts"
    for name in ("needs", "base_settings"):
        value = getattr(axis, name)
        if value is not None and not (
            isinstance(value, Mapping) and all(type(k) is str and type(v) is str for k, v in value.items())
        ):
            return f"axes: {name} of {axis.name} must be a mapping of texts to texts"
    return None
