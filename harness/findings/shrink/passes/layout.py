"""Candidates for a case whose tables are stored more plainly: a part of a layout back at its default."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from mergecheck.model.storage import SourceLayout, TargetLayout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case

_TARGET, _SOURCE = TargetLayout(), SourceLayout()


def plainer_layouts(case: Case) -> Iterator[Case]:
    """Yield cases without any layout, with one part of a layout less, and with one added column less."""
    target, source = case.target, case.source
    bare_source = None if source is None else replace(source, layout=_SOURCE)
    yield from _unless_same(case, replace(case, target=replace(target, layout=_TARGET), source=bare_source))
    for field in fields(TargetLayout):
        plainer = replace(target.layout, **{field.name: getattr(_TARGET, field.name)})
        yield from _unless_same(case, _with_target_layout(case, plainer))
    for name in target.layout.added_columns:
        others = tuple(other for other in target.layout.added_columns if other != name)
        yield _with_target_layout(case, replace(target.layout, added_columns=others))
    for name in target.layout.widened_columns:
        rest = {other: kind for other, kind in target.layout.widened_columns.items() if other != name}
        yield _with_target_layout(case, replace(target.layout, widened_columns=rest))
    if source is not None:
        for field in fields(SourceLayout):
            handed = replace(source.layout, **{field.name: getattr(_SOURCE, field.name)})
            yield from _unless_same(case, replace(case, source=replace(source, layout=handed)))


def _with_target_layout(case: Case, layout: TargetLayout) -> Case:
    return replace(case, target=replace(case.target, layout=layout))


def _unless_same(case: Case, candidate: Case) -> Iterator[Case]:
    if candidate != case:
        yield candidate
