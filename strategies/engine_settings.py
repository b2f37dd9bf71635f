"""Settings of one engine, added to drawn cases; they change how a merge runs and not its result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices import chance
from mergecheck.strategies.drawn_case import with_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DrawFn, SearchStrategy

    from mergecheck.model.case import Case


def with_settings(cases: SearchStrategy[Case], conf_domain: Mapping[str, tuple[str, ...]]) -> SearchStrategy[Case]:
    """Return a strategy of cases with a few settings of an engine; they shrink to cases without these settings.

    The domain has the values of each setting, simplest first. A setting that a case already has stays as it is.

    Raises:
        ValueError: for a setting without values.
    """
    for name, values in conf_domain.items():
        if not values:
            raise ValueError(f"setting {name} of the engine has no values: name at least one, or leave it out")
    return _with_settings(cases, tuple(conf_domain.items())) if conf_domain else cases


@st.composite
def _with_settings(draw: DrawFn, cases: SearchStrategy[Case], domain: tuple[tuple[str, tuple[str, ...]], ...]) -> Case:
    """Cases with some settings of a domain."""
    case = draw(cases)
    # about two of them at a time, however many there are
    percent = min(90, 200 / len(domain)) if chance(draw, 55) else 0
    wanted = [(name, values) for name, values in domain if chance(draw, percent) and name not in case.conf]
    added = {name: draw(st.sampled_from(values)) for name, values in wanted}
    return with_id(replace(case, conf={**case.conf, **added})) if added else case
