"""The trend over several runs of ``fuzz``: a few lines drawn, and a table with all figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.page import Cell, Chart, ChartPoint, Column, Part, Table
from mergecheck.harness.properties.limits import percent
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.harness.report.fuzz_figures import RunFigures

MAX_RUNS = 50
_WHOLE = "{:,.0f}".format
_TENTHS = "{:,.1f}".format
# The charts: the figure, its format, and the top of the scale if that is fixed.
_LINES: tuple[tuple[str, Callable[[RunFigures], float], Callable[[float], str], float | None], ...] = (
    ("Verified", lambda run: run.verified_share, percent, 1.0),
    ("Known deviations", lambda run: run.share(run.num_deviating), percent, 1.0),
    ("Cases a second, without shrinking", lambda run: run.cases_a_second, _TENTHS, None),
    ("Rules reached", lambda run: run.num_rules, _WHOLE, None),
    ("Pairs of values reached", lambda run: run.num_pairs, _WHOLE, None),
    ("Findings", lambda run: run.num_findings, _WHOLE, None),
)
_COLUMNS = (
    *("Run", "Began", "Engine", "Cases", "Verified", "Known deviations", "Unsupported", "Findings"),
    *("Cases a second", "Rules reached", "Pairs reached", "Repeated draws"),
)
_NUM_TEXT_COLUMNS = 3


def trend_part(runs: Sequence[RunFigures]) -> Part:
    """Show how the figures of runs went.

    Args:
        runs: the oldest first, the last one is this one; the newest ``MAX_RUNS`` are shown.
    """
    if not runs:
        return Part()
    shown = runs[-MAX_RUNS:]
    num_more = len(runs) - len(shown)
    table = Table(
        caption="Runs, the newest first",
        columns=tuple(Column(name=name, is_number=i >= _NUM_TEXT_COLUMNS) for i, name in enumerate(_COLUMNS)),
        rows=tuple(_row(run) for run in reversed(shown)),
        foot=f"not shown: {counted(num_more, 'older run')}" if num_more else "",
    )
    return Part(charts=tuple(_chart(shown, *line) for line in _LINES), tables=(table,))


def _chart(
    runs: Sequence[RunFigures],
    caption: str,
    figure: Callable[[RunFigures], float],
    written: Callable[[float], str],
    top: float | None,
) -> Chart:
    values = [figure(run) for run in runs]
    high = top if top is not None else max(*values, 0) or 1.0
    width, height = Chart.width, Chart.height
    step = width / (len(runs) - 1) if len(runs) > 1 else 0.0
    points = (
        ChartPoint(
            x=round(step * i, 1),
            y=round(height * (1 - value / high), 1),
            text=f"{run.started or run.name}: {written(value)}",
        )
        for i, (run, value) in enumerate(zip(runs, values, strict=True))
    )
    return Chart(
        caption=caption,
        points=tuple(points),
        first=written(values[0]),
        last=written(values[-1]),
        high=written(high),
    )


def _row(run: RunFigures) -> tuple[Cell, ...]:
    texts = (
        run.name,
        run.started.replace("T", " ").removesuffix("+00:00"),
        f"{run.engine} {run.engine_version}".rstrip(),
        f"{run.num_cases:,}",
        percent(run.verified_share),
        percent(run.share(run.num_deviating)),
        percent(run.share(run.num_unsupported)),
        f"{run.num_findings:,}",
        f"{run.cases_a_second:,.1f}",
        f"{run.num_rules:,}",
        f"{run.num_pairs:,}",
        f"{run.num_repeated:,}",
    )
    return tuple(Cell(text=text) for text in texts)
