"""Candidates for a case whose tables are stored more plainly: layouts back at their default, smaller row groups."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from mergecheck.model.storage import SourceLayout, TargetLayout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case

_TARGET, _SOURCE = TargetLayout(), SourceLayout()
_FEW_ROWS = 2


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


def smaller_row_groups(case: Case) -> Iterator[Case]:
    """Yield cases with a part of the rows of every row group, so that each group stays a group of its rows.

    Without rows alone, the rest of a later group would move into the one before.
    """
    size = case.target.layout.row_group_rows
    if size is None or size <= _FEW_ROWS:
        return
    if size <= 2 * _FEW_ROWS:
        parts = [[place for place in range(size) if place != left_out] for left_out in range(size)]
    else:
        half = size // 2
        parts = [list(range(size - half)), list(range(half, size))]
    for places in parts:
        files = tuple(
            tuple(
                file[start + place]
                for start in range(0, len(file), size)
                for place in places
                if start + place < len(file)
            )
            for file in case.target.files
        )
        layout = replace(case.target.layout, row_group_rows=len(places))
        yield replace(case, target=replace(case.target, files=tuple(filter(None, files)), layout=layout))


def _with_target_layout(case: Case, layout: TargetLayout) -> Case:
    return replace(case, target=replace(case.target, layout=layout))


def _unless_same(case: Case, candidate: Case) -> Iterator[Case]:
    if candidate != case:
        yield candidate
