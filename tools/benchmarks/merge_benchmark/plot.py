"""The results as a picture: a bar per case and engine, drawn as SVG without any library."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.benchmarks.merge_benchmark.runs import CaseResult
    from tools.benchmarks.merge_benchmark.tables import Tables

_COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#7f7f7f")
_LEFT, _RIGHT, _TOP = 270, 60, 60
_BAR, _GAP, _WIDTH = 11, 9, 900


def plot(results: Sequence[CaseResult], tables: Tables) -> str:
    """Draw the median seconds of every case, the longest bar as wide as the picture."""
    engines = list(dict.fromkeys(result.engine for result in results))
    cases = list(dict.fromkeys(result.case.name for result in results))
    seconds = {(result.case.name, result.engine): result.seconds for result in results}
    step = _BAR * len(engines) + _GAP
    height = _TOP + step * len(cases) + _GAP
    scale = (_WIDTH - _LEFT - _RIGHT) / max(seconds.values())
    title = f"MERGE into {tables.num_rows:,} rows in {tables.num_files} files, seconds (less is better)"
    shapes = [_text(_LEFT, 22, title, size=14), *_legend(engines)]
    for row, case in enumerate(cases):
        top = _TOP + row * step
        shapes.append(_text(_LEFT - 8, top + step / 2, case, anchor="end"))
        for number, engine in enumerate(engines):
            if (case, engine) in seconds:
                shapes += _bar(top + number * _BAR, seconds[case, engine], scale, _COLOURS[number])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif">'
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>{"".join(shapes)}</svg>\n'
    )


def _legend(engines: Sequence[str]) -> list[str]:
    shapes = []
    for number, engine in enumerate(engines):
        left = _LEFT + number * 130
        shapes.append(f'<rect x="{left}" y="34" width="12" height="12" fill="{_COLOURS[number]}"/>')
        shapes.append(_text(left + 18, 44, engine))
    return shapes


def _bar(top: float, seconds: float, scale: float, colour: str) -> list[str]:
    width = seconds * scale
    return [
        f'<rect x="{_LEFT}" y="{top:.1f}" width="{width:.1f}" height="{_BAR - 1}" fill="{colour}"/>',
        _text(_LEFT + width + 4, top + _BAR - 2, f"{seconds:.2f}", size=9),
    ]


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'
