"""``mergecheck lab scoreboard``: engine x release x feature, from stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from mergecheck.harness.cli.html.rendering import html_option, write_html
from mergecheck.harness.cli.html.scoreboard import scoreboard_page
from mergecheck.harness.cli.options import deviation_options, json_option, known_deviations
from mergecheck.harness.cli.output.terminal import emit_json, show, show_table
from mergecheck.harness.lab.scoreboard.scoreboard import scoreboard as put_together
from mergecheck.harness.lab.scoreboard.scoreboard import scoreboard_json
from mergecheck.harness.lab.scoreboard.scoreboard_run import Answer
from mergecheck.harness.lab.scoreboard.stored_runs import read_runs
from mergecheck.harness.verdict import ExitCode
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from mergecheck.harness.lab.scoreboard.scoreboard import Scoreboard


@click.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="RUN.json..."
)
@html_option
@deviation_options
@json_option
def scoreboard(
    *,
    files: tuple[Path, ...],
    html_file: Path | None,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    as_json: bool,
) -> int:
    """Put stored runs together: what each release of each engine does, by feature, with a minimal case.

    RUN.json is what matrix --json, fuzz --json or run --json wrote. Nothing is run, so the exit code says nothing
    about the engines. A matrix counts by feature; the other verbs count in the totals.
    """
    board = put_together(run for path in files for run in read_runs(path))
    if html_file is not None:
        write_html(html_file, scoreboard_page(board, deviations=known_deviations(deviation_files, none=no_deviations)))
    if as_json:
        emit_json(scoreboard_json(board))
    else:
        _show(board)
    return ExitCode.AGREE


def _show(board: Scoreboard) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("release", no_wrap=True)
    for answer in Answer:
        table.add_column(answer.value, justify="right")
    table.add_column("judged", justify="right")
    for engine in board.engines:
        for release in engine.releases:
            numbers = [str(release.totals[answer]) for answer in Answer]
            table.add_row(f"{engine.name} {release.version}", *numbers, str(release.num_judged))
    show_table(table)
    causes = [cause for engine in board.engines for cause in engine.causes]
    num_open = sum(not cause.deviations for cause in causes)
    told = counted(len(causes), "way to differ", "ways to differ")
    show(f"\n{told} from the reference, {num_open} unexplained")
