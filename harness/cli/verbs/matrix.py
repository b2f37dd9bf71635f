"""``mergecheck lab matrix``: compare engines feature by feature on the same random cases."""

from __future__ import annotations

import datetime as dt
import secrets
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.html.matrix import matrix_page
from mergecheck.harness.cli.html.rendering import html_option, write_html
from mergecheck.harness.cli.options import (
    FiniteRange,
    deviation_options,
    findings_option,
    json_option,
    known_deviations,
    markdown_option,
    max_cases_option,
    max_time_option,
    seed_option,
)
from mergecheck.harness.cli.output.terminal import emit_json, notice, show, show_table, write_page
from mergecheck.harness.engines.registry import engine_names as registered
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.lab.scoreboard.scoreboard_run import SHRINK_SECONDS, Answer, MatrixRun
from mergecheck.harness.lab.scoreboard.scoreboard_text import markdown as page
from mergecheck.harness.lab.scoreboard.scoreboard_text import matrix_json, rich_table, summary_lines
from mergecheck.harness.search.session import close_engine, reference_for, start_engine
from mergecheck.harness.verdict import ExitCode, Expressions, UserInputError
from mergecheck.strategies import Feature, Profile, samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.lab.scoreboard.scoreboard_run import Column, Matrix
    from mergecheck.model.case import Case

DEFAULT_MAX_CASES = 200
_EVERY = 25  # cases between two progress lines


@click.command()
@click.option(
    "--engine",
    "engine_names",
    multiple=True,
    metavar="NAME",
    help="An engine to compare; repeat it for each. All registered engines if left out.",
)
@click.option("--common", is_flag=True, help="Draw only what all of the engines take, by their capabilities.")
@max_cases_option
@max_time_option
@seed_option
@click.option(
    "--shrink-time",
    "shrink_seconds",
    type=FiniteRange(0),
    default=SHRINK_SECONDS,
    show_default=True,
    metavar="S",
    help="Seconds that the case of each difference is made smaller for.",
)
@findings_option("Where the minimal case of each difference is saved.")
@markdown_option
@html_option
@deviation_options
@json_option
def matrix(
    *,
    engine_names: tuple[str, ...],
    common: bool,
    max_cases: int | None,
    max_seconds: float | None,
    seed: int | None,
    shrink_seconds: float,
    findings_directory: Path,
    markdown: Path | None,
    html_file: Path | None,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    as_json: bool,
) -> int:
    """Run the same random cases on several engines: per feature, how many agree, deviate or are not supported."""
    names = engine_names or registered()
    if len(set(names)) < len(names):
        raise UserInputError(f"an engine is given twice: {', '.join(names)}")
    if max_cases is None and max_seconds is None:
        max_cases = DEFAULT_MAX_CASES
    if seed is None:
        seed = secrets.randbelow(2**31)
    deviations = known_deviations(deviation_files, none=no_deviations)
    engines = _started(names)
    off = sorted({name for engine in engines for name in engine.capabilities.features_off}) if common else []
    try:
        result = MatrixRun(
            engines,
            names=names,
            deviations=deviations,
            findings=FindingsDirectory(findings_directory),
            reference=lambda engine: reference_for(engine, Expressions.DUCKDB).evaluate,
            listener=_progress,
            shrink_seconds=shrink_seconds,
        ).run(_stream(seed, off), seed=seed, features_off=off, max_cases=max_cases, max_seconds=max_seconds)
    finally:
        for engine in engines:
            close_engine(engine)
    if markdown is not None:
        write_page(markdown, page(result, date=dt.datetime.now(dt.UTC).date().isoformat()))
    if as_json:
        emit_json(matrix_json(result))
    else:
        show_table(rich_table(result))
        show("\n".join(summary_lines(result)))
    code = exit_code(result)
    if html_file is not None:
        again = f"mergecheck lab matrix --seed {seed} --max-cases {max(1, result.num_cases)}"
        again += "".join(f" --engine {name}" for name in names) + (" --common" if common else "")
        write_html(html_file, matrix_page(result, deviations=deviations, again=again, code=code))
    return code


def exit_code(result: Matrix) -> ExitCode:
    """Return the exit code of a matrix; an unexplained difference outweighs an engine that is down."""
    if result.interrupted:
        return ExitCode.INTERRUPTED
    if any(column.totals[Answer.MISMATCH] for column in result.columns):
        return ExitCode.MISMATCH
    if any(column.down or column.totals[Answer.ERROR] for column in result.columns):
        return ExitCode.ENGINE
    agreed = all(column.totals[Answer.AGREE] for column in result.columns)
    return ExitCode.AGREE if agreed else ExitCode.INCONCLUSIVE


def _started(names: tuple[str, ...]) -> list[Engine]:
    """Start all engines before the first case: engines on Spark share one session with the jars of all."""
    engines: list[Engine] = []
    try:
        for name in names:
            engines.append(start_engine(name))  # noqa: PERF401 - those that started are closed if one does not
    except BaseException:
        for engine in engines:
            close_engine(engine)
        raise
    return engines


def _stream(seed: int, off: list[str]) -> Iterator[tuple[Case, frozenset[str]]]:
    left_out = [feature for feature in Feature if feature.value in off]
    for drawn in samples(seed, profile=Profile().without(*left_out)):
        yield drawn.case, drawn.features


def _progress(number: int, columns: tuple[Column, ...]) -> None:
    if number % _EVERY == 0:
        notice(f"{number} cases; " + "; ".join(f"{c.engine.name} {sum(c.seen.values())} differ" for c in columns))
