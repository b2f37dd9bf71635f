"""Settings of one engine, drawn per case on top of what the case says; they change how a merge runs, not its result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices.chance import chance, chances, pick
from mergecheck.strategies.choices.identity import case_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    from mergecheck.reference.case.model import Case

_SOME_PERCENT = 55
_WANTED = 2
_MOST_PERCENT = 90.0


def with_settings(cases: SearchStrategy[Case], conf_domain: Mapping[str, tuple[str, ...]]) -> SearchStrategy[Case]:
    """Draw cases that also have a few settings of an engine, or none; they shrink to none.

    Args:
        cases: where the cases come from; a setting that a case has stays as it is.
        conf_domain: the values of each setting that the engine declares, simplest first.

    Raises:
        ValueError: for a setting without values.
    """
    for name, values in conf_domain.items():
        if not values:
            raise ValueError(f"setting {name} of the engine has no values: name at least one, or leave it out")
    return _with_settings(cases, tuple(conf_domain.items())) if conf_domain else cases


@st.composite
def _with_settings(draw: DrawFn, cases: SearchStrategy[Case], domain: tuple[tuple[str, tuple[str, ...]], ...]) -> Case:
    case = draw(cases)
    # about two of them at a time, however many there are
    percent = min(_MOST_PERCENT, 100 * _WANTED / len(domain)) if chance(draw, _SOME_PERCENT) else 0
    wanted = chances(draw, [percent] * len(domain))
    added = {
        name: pick(draw, values)
        for (name, values), is_wanted in zip(domain, wanted, strict=True)
        if is_wanted and name not in case.conf
    }
    if not added:
        return case
    changed = replace(case, conf={**case.conf, **added})
    return replace(changed, id=case_id(changed))
