"""``mergecheck lab sequences``: check several merges, and other writes between them, on one table."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.options import (
    case_timeout_option,
    engine_option,
    file_option,
    findings_option,
    json_option,
    trust_option,
)
from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.cli.verbs.sequencing.sequences_text import lines_of, result_json, show_result, show_totals
from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.engine import ExistingTableEngine
from mergecheck.harness.engines.registry import engine_names
from mergecheck.harness.findings.store import FINDINGS_DIRECTORY
from mergecheck.harness.lab.sequences.draw import sequences as drawn
from mergecheck.harness.lab.sequences.report import Ending
from mergecheck.harness.lab.sequences.sequence_file import dump_sequence, parse_sequence
from mergecheck.harness.lab.sequences.sequence_run import run_sequence
from mergecheck.harness.lab.sequences.totals import TotalsFormatError, read_totals, run_of, write_totals
from mergecheck.harness.processes.output_files import create
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.harness.verdict import ExitCode, UserInputError
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.text_file import read_text

if TYPE_CHECKING:
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.lab.sequences.report import SequenceReport
    from mergecheck.harness.lab.sequences.steps import Sequence
    from mergecheck.harness.lab.sequences.totals import Run

DEFAULT_MAX_SEQUENCES = 50
DEFAULT_STEPS = 5


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, dir_okay=False), metavar="[FILE]...")
@engine_option
@click.option(
    "--writer",
    "writer_names",
    multiple=True,
    metavar="NAME",
    help="An engine that takes turns with others at the merges, or reads a FILE; repeat it for each, without --engine.",
)
@click.option(
    "--max-sequences",
    type=click.IntRange(min=1),
    default=DEFAULT_MAX_SEQUENCES,
    show_default=True,
    metavar="N",
    help="Stop after N random sequences.",
)
@click.option(
    "--steps",
    type=click.IntRange(2, 100),
    default=DEFAULT_STEPS,
    show_default=True,
    help="Steps of each random sequence.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="The same seed gives the same sequences. Drawn and printed if left out.",
)
@click.option(
    "--start",
    type=click.IntRange(min=0),
    metavar="N",
    help="Begin with the seed's sequence number N; its name ends with the number.",
)
@file_option(
    "--totals",
    "totals_file",
    "Add the counts to FILE. A run with the writers, seed and steps of one that it has goes on where that ended.",
)
@case_timeout_option
@trust_option
@findings_option("Where sequences that disagree are saved.", default=FINDINGS_DIRECTORY / "sequences")
@json_option
def sequences(
    *,
    paths: tuple[Path, ...],
    engine_name: str,
    writer_names: tuple[str, ...],
    max_sequences: int,
    steps: int,
    seed: int | None,
    start: int | None,
    totals_file: Path | None,
    case_seconds: float,
    trust: bool,
    findings_directory: Path,
    as_json: bool,
) -> int:
    """Check sequences of merges, appends, deletes, file rewrites and new columns on one table.

    FILE is a saved sequence. Without FILE, random sequences are drawn. With several writers, every ordered pair of
    them has its turn, and all that can read the table read it after every step. With FILE, --writer names engines that
    read only; the sequence itself names those that write. For --case-timeout, every step is a case.
    """
    if (len(writer_names) == 1 and not paths) or len(set(writer_names)) < len(writer_names):
        raise click.UsageError("give --writer at least twice, each with another engine")
    if totals_file is not None and (paths or start is not None):
        raise click.UsageError("--totals says itself where to go on: leave out FILE and --start")
    if seed is None:
        seed = secrets.randbelow(2**31)
    saved = _read(paths, trust=trust)
    runs = [] if totals_file is None else _read_totals(totals_file)
    run = run_of(runs, writers=writer_names or (engine_name,), seed=seed, steps=steps)
    first = run.start if start is None else start
    names = tuple(dict.fromkeys((*writer_names, *(name for sequence in saved for name in sequence.writers))))
    who = "".join(f" --writer {name}" for name in names) or f" --engine {engine_name}"
    reports: list[SequenceReport] = []
    limit = TimeLimit(seconds=case_seconds)
    # start all before the first sequence: engines on Spark share one session with all jars
    engines = [engine_of_command(name, limit) for name in names or (engine_name,)]
    writers = dict(zip(names, engines, strict=True)) if names else {}
    _require_living(engines)
    able = {name: engine.capabilities for name, engine in writers.items()}
    stream = drawn(seed, num_steps=steps, writers=able, start=first)
    interrupted = False
    try:
        for number, sequence in enumerate(saved) if paths else itertools.islice(stream, max_sequences):
            report = run_sequence(sequence, engines[0], writers, limit=limit)
            reports.append(report)
            if report.mismatches and not paths:
                path = _save(sequence, findings_directory)
                notice("\n".join(lines_of(report)))
                notice(f"saved; to run it again: mergecheck lab sequences {shlex.quote(str(path))}{who}")
            if totals_file is not None:
                run.add(report, number=number)
                _write_totals(runs, totals_file)
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        kept_seed = None if paths else seed
        emit_json(
            result_json(reports, engine_name=engine_name, writers=names, seed=kept_seed, is_complete=not interrupted)
        )
    else:
        show_result(reports, seed=None if paths else seed, steps=steps, who=who, start=first)
        if totals_file is not None:
            show_totals(runs, totals_file)
        if interrupted:
            show("stopped: interrupted")
    return ExitCode.INTERRUPTED if interrupted else _exit_code(reports)


def _read_totals(path: Path) -> list[Run]:
    try:
        return read_totals(path)
    except (TotalsFormatError, OSError) as error:
        raise UserInputError(f"{path}: {error}. Give --totals a file that it wrote, or a new one.") from error


def _write_totals(runs: list[Run], path: Path) -> None:
    try:
        write_totals(runs, path)
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another file with --totals FILE.") from error


def _read(paths: tuple[Path, ...], *, trust: bool) -> list[Sequence]:
    found = []
    for path in paths:
        try:
            found.append(parse_sequence(read_text(path), name=str(path)))
        except CaseFormatError as error:
            raise UserInputError(str(error)) from error
        if not trust:
            _require_known(found[-1].writers, path)
            for case in found[-1].cases():
                require_harmless(case, str(path))
    return found


def _require_known(writers: tuple[str, ...], path: Path) -> None:
    """Refuse a file that names code to run: any other name imports a module, or installs a release.

    Raises:
        UserInputError: it names an engine that is not installed with a package.
    """
    known = engine_names()
    if unknown := [name for name in writers if name not in known]:
        raise UserInputError(
            f"{path}: {unknown[0]!r} is none of the installed engines ({', '.join(known)}). To run it, give --trust."
        )


def _require_living(engines: list[Engine]) -> None:
    """Refuse writers that cannot merge into another's table; a single engine reports this sequence by sequence."""
    lacking = [engine.name for engine in engines if not isinstance(engine, ExistingTableEngine)]
    if lacking and len(engines) > 1:
        raise UserInputError(f"{lacking[0]} cannot merge into a table that others have written: leave it out")


def _save(sequence: Sequence, folder: Path) -> Path:
    path = folder / f"{sequence.id}.json"
    try:
        with contextlib.suppress(FileExistsError):
            create(path, dump_sequence(sequence) + "\n", parents=True)
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another folder with --findings DIR.") from error
    return path


def _exit_code(reports: list[SequenceReport]) -> ExitCode:
    endings = {report.ending for report in reports}
    if Ending.MISMATCH in endings:
        return ExitCode.MISMATCH
    if Ending.ENGINE_ERROR in endings:
        return ExitCode.ENGINE
    return ExitCode.AGREE if Ending.AGREES in endings else ExitCode.INCONCLUSIVE
