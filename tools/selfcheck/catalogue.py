"""The catalogue of faults, as data: a file for each area of the merge, one for single variants, one for conflicts.

An entry reads as a small diff: in ``function``, ``replace`` becomes ``by``. Further changes of the same fault follow
under ``also``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from mergecheck.harness.deviations.predicates import parse_predicate
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import parse_cases
from tools.selfcheck.fault import Area, Fault
from tools.selfcheck.mutation import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Case

_FOLDER = resources.files("tools.selfcheck") / "faults"
_VARIANT_CASES = "variant_cases.jsonl"
_CHANGE_KEYS = frozenset({"function", "replace", "by"})
_TEXT_KEYS = frozenset({"id", "summary", "in_workers", "two_scans", "origin", "equivalent", "seldom"})
_KEYS = _CHANGE_KEYS | _TEXT_KEYS | {"rules", "when", "also"}
_VARIANT_KEYS = frozenset({"case", "variant", "axes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantFault:
    """A fault that a merge shows under one configuration or layout only, and how it is to be found.

    At the base of the variants the merge is right, so that no comparison with the reference finds the fault there.

    Attributes:
        case: the name of a case of ``variant_cases`` that shows it.
        variant: one that shows it on that case; it has axes besides that have nothing to do with it.
        axes: of which one has to be named.
    """

    fault: Fault
    case: str
    variant: str
    axes: frozenset[str]


@dataclass(frozen=True, slots=True)
class ConflictFault:
    """A fault that only shows if several writers meet; ``scenario`` names the smallest one that shows it."""

    fault: Fault
    scenario: str


def load_catalogue() -> tuple[Fault, ...]:
    """Read all faults, area by area.

    Raises:
        ValueError: an entry has an unknown or lacks a necessary key, or names a word that predicates do not have.
    """
    return tuple(
        _fault(entry, area) for area in Area for entry in _entries(f"{area.value.replace(' ', '_')}.toml", _KEYS)
    )


def load_variant_faults() -> tuple[VariantFault, ...]:
    """Read the faults of single variants.

    Raises:
        ValueError: see ``load_catalogue``.
    """
    return tuple(
        VariantFault(
            fault=_fault({key: value for key, value in entry.items() if key not in _VARIANT_KEYS}, Area.MATCHING),
            case=entry["case"],
            variant=entry["variant"],
            axes=frozenset(entry["axes"]),
        )
        for entry in _entries("variants.toml", _KEYS | _VARIANT_KEYS)
    )


def load_conflict_faults() -> tuple[ConflictFault, ...]:
    """Read the faults of the rules about concurrent commits.

    Raises:
        ValueError: see ``load_catalogue``.
    """
    return tuple(
        ConflictFault(
            fault=_fault({key: value for key, value in entry.items() if key != "scenario"}, Area.COMMIT),
            scenario=entry["scenario"],
        )
        for entry in _entries("conflicts.toml", _KEYS | {"scenario"})
    )


def variant_cases() -> Mapping[str, Case]:
    """Read the cases on which the faults of single variants show, by name."""
    text = (_FOLDER / _VARIANT_CASES).read_text(encoding="utf-8")
    return {case.id: case for case in parse_cases(text, name=_VARIANT_CASES, lines=True)}


def chosen(ids: Sequence[str]) -> tuple[Fault, ...]:
    """Choose faults by id; all if there are none.

    Raises:
        UserInputError: there is no fault of an id.
    """
    catalogue = load_catalogue()
    by_id = {fault.id: fault for fault in catalogue}
    unknown = [name for name in ids if name not in by_id]
    if unknown:
        raise UserInputError(
            f"no fault is called {', '.join(unknown)}. "
            f"python -m tools.selfcheck --list shows the {len(by_id)} there are."
        )
    return tuple(by_id[name] for name in ids) or catalogue


def _entries(name: str, keys: frozenset[str]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads((_FOLDER / name).read_text(encoding="utf-8"))["fault"]
    for entry in entries:
        if unknown := entry.keys() - keys:
            raise ValueError(f"{name}: {entry.get('id')} has unknown keys: {', '.join(sorted(unknown))}")
    return entries


def _fault(entry: Mapping[str, Any], area: Area) -> Fault:
    changes = [{key: entry[key] for key in _CHANGE_KEYS}, *entry.get("also", [])]
    return Fault(
        area=area,
        rules=tuple(entry["rules"]),
        when=parse_predicate(entry.get("when", {})),
        changes=tuple(Change(**{"function": entry["function"], **change}) for change in changes),
        **{key: entry[key] for key in _TEXT_KEYS & entry.keys()},
    )
