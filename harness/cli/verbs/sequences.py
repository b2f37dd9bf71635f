"""``mergecheck sequences``: check several merges, and other writes between them, on one table."""

from __future__ import annotations

import contextlib
import itertools
import secrets
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.cli.options import engine_option, findings_option, json_option, trust_option
from mergecheck.harness.cli.output.terminal import emit_json, notice, show, show_wrapped
from mergecheck.harness.core.formatting import counted
from mergecheck.harness.engine import LivingEngine
from mergecheck.harness.engines import engine_names
from mergecheck.harness.errors import ExitCode, UserInputError
from mergecheck.harness.findings.store import FINDINGS_DIRECTORY
from mergecheck.harness.report.json import mismatches_json
from mergecheck.harness.report.render import printable
from mergecheck.harness.sequences.draw import sequences as drawn
from mergecheck.harness.sequences.run import Ending, run_sequence
from mergecheck.harness.sequences.steps import dump_sequence, parse_sequence
from mergecheck.harness.sequences.turns import Turns
from mergecheck.harness.session import open_engine
from mergecheck.harness.trust.case import require_harmless
from mergecheck.reference.case.text_file import read_text
from mergecheck.reference.errors import CaseFormatError

if TYPE_CHECKING:
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.sequences.run import SequenceReport
    from mergecheck.harness.sequences.steps import Sequence

DEFAULT_MAX_SEQUENCES = 50
DEFAULT_STEPS = 5
MAX_LINES = 12


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, dir_okay=False), metavar="[FILE]...")
@engine_option
@click.option(
    "--writer",
    "writer_names",
    multiple=True,
    metavar="NAME",
    help="An engine that takes turns with others at the merges; repeat it for each. --engine is then left out.",
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
    trust: bool,
    findings_directory: Path,
    as_json: bool,
) -> int:
    """Check sequences of merges, appends, deletes, file rewrites and new columns on one table.

    FILE is a saved sequence. Without FILE, random sequences are drawn. With several writers, every ordered pair of
    them has its turn, and all that can read the table read it after every step.
    """
    if len(writer_names) == 1 or len(set(writer_names)) < len(writer_names):
        raise click.UsageError("give --writer at least twice, each with another engine")
    if paths and writer_names:
        raise click.UsageError("a saved sequence names its writers: give either FILE or --writer")
    if seed is None:
        seed = secrets.randbelow(2**31)
    saved = _read(paths, trust=trust)
    names = writer_names or tuple(dict.fromkeys(name for sequence in saved for name in sequence.writers))
    reports: list[SequenceReport] = []
    with contextlib.ExitStack() as stack:
        # start all before the first sequence: engines on Spark share one session with all jars
        engines = [stack.enter_context(open_engine(name)) for name in names or (engine_name,)]
        writers = dict(zip(names, engines, strict=True)) if names else {}
        _require_living(engines)
        able = {name: engine.capabilities for name, engine in writers.items()}
        given = saved or itertools.islice(drawn(seed, num_steps=steps, writers=able), max_sequences)
        for sequence in given:
            report = run_sequence(sequence, engines[0], writers)
            reports.append(report)
            if report.mismatches and not paths:
                notice(f"saved to {_save(sequence, findings_directory)}")
    who = "".join(f" --writer {name}" for name in names) or f" --engine {engine_name}"
    if as_json:
        emit_json(_json(reports, engine_name=engine_name, writers=names, seed=None if paths else seed))
    else:
        _show(reports, seed=None if paths else seed, steps=steps, who=who)
    return _exit_code(reports)


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
    """Refuse writers that cannot merge into a table of others; a single engine says so sequence by sequence."""
    lacking = [engine.name for engine in engines if not isinstance(engine, LivingEngine)]
    if lacking and len(engines) > 1:
        raise UserInputError(f"{lacking[0]} cannot merge into a table that others have written: leave it out")


def _save(sequence: Sequence, folder: Path) -> Path:
    path = folder / f"{sequence.id}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(dump_sequence(sequence) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another folder with --findings DIR.") from error
    return path


def _show(reports: list[SequenceReport], *, seed: int | None, steps: int, who: str) -> None:
    for report in reports:
        if report.mismatches or report.report is not None:
            show("\n".join(_lines(report)) + "\n")
    counts = Counter(report.ending.value for report in reports)
    done = Counter(type(step).__name__.lower() for r in reports for step in r.sequence.steps[: r.num_steps])
    show(
        f"{counted(len(reports), 'sequence')}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common())
    )
    show("steps: " + ", ".join(f"{name} {count}" for name, count in done.most_common()))
    for reason, count in Counter(report.reason for report in reports if report.reason).most_common():
        show(f"  {count:>4}  {reason}")
    _show_turns(_turns(reports))
    if seed is not None:
        show(
            f"seed {seed}  same sequences again: mergecheck sequences{who} --seed {seed} "
            f"--steps {steps} --max-sequences {len(reports)}"
        )


def _turns(reports: list[SequenceReport]) -> Turns:
    turns = Turns()
    for report in reports:
        turns.add(report.turns)
    return turns


def _show_turns(turns: Turns) -> None:
    """Say how often each ordered pair of writers had its turn, and who read what; nothing of a single engine."""
    for title, pairs in (("written after", turns.pairs), ("read by", turns.reads)):
        told = [f"{first} -> {second} {count}" for (first, second), count in sorted(pairs.items())]
        show_wrapped([f"{title}: {', '.join(told)}"] if told else [])
    for what, count in turns.own.most_common():
        show(f"  {count:>4}  {what}: differs on a fresh table, too")
    for reason, count in turns.skipped.most_common():
        show(f"  {count:>4}  skipped: {printable(reason)}")


def _lines(report: SequenceReport) -> list[str]:
    kinds = [type(step).__name__.lower() for step in report.sequence.steps]
    done = ", ".join(kinds[: report.num_steps])
    lines = [f"{report.ending.value.upper()}  {printable(report.sequence.id)}  after {done}"]
    if report.pair is not None:
        lines.append(f"  written by {report.pair[0]}, then {report.pair[1]}")
    if report.report is not None:
        lines.append(f"  {printable(report.report.case.sql)}")
    found = [line for mismatch in report.mismatches for line in (mismatch.check.value, *mismatch.lines)]
    return [*lines, *(f"  {line}" for line in found[:MAX_LINES])]


def _json(
    reports: list[SequenceReport], *, engine_name: str, writers: tuple[str, ...], seed: int | None
) -> dict[str, Any]:
    turns = _turns(reports)
    return {
        "engine": None if writers else engine_name,
        "writers": list(writers),
        "pairs": [[*pair, count] for pair, count in sorted(turns.pairs.items())],
        "reads": [[*pair, count] for pair, count in sorted(turns.reads.items())],
        "own": dict(turns.own),
        "skipped": dict(turns.skipped),
        "seed": seed,
        "counts": dict(Counter(report.ending.value for report in reports)),
        "sequences": [
            {
                "id": report.sequence.id,
                "ending": report.ending.value,
                "steps": report.num_steps,
                "reason": report.reason,
                "pair": None if report.pair is None else list(report.pair),
                "mismatches": mismatches_json(report.mismatches),
            }
            for report in reports
        ],
    }


def _exit_code(reports: list[SequenceReport]) -> ExitCode:
    endings = {report.ending for report in reports}
    if Ending.MISMATCH in endings:
        return ExitCode.MISMATCH
    if Ending.ENGINE_ERROR in endings:
        return ExitCode.ENGINE
    return ExitCode.AGREE if Ending.AGREES in endings else ExitCode.INCONCLUSIVE
