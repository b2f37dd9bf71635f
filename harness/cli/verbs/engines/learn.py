"""Learns by trial which features an engine refuses: part of ``mergecheck engine conform``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.options import LEARNED, case_timeout_option, json_option, writable
from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.lab.learning.learned import (
    Answer,
    EngineKnowledge,
    differences,
    knowledge_json,
    knowledge_text,
    read_knowledge,
)
from mergecheck.harness.lab.learning.learned import (
    learn as learn_by,
)
from mergecheck.harness.lab.learning.probes import probes
from mergecheck.harness.processes.output_files import write_text
from mergecheck.harness.processes.time_limit import TimeLimit
from mergecheck.harness.report.render import printable
from mergecheck.harness.search.session import reference_for
from mergecheck.harness.verdict import Check, ExitCode, Expressions, UserInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.engine import Engine
_FILE = click.Path(path_type=Path, dir_okay=False)
_COMPARED = frozenset({Check.ROWS, Check.SCHEMA})


@click.command()
@click.argument("engine_name", metavar="ENGINE")
@click.option(
    "-o",
    "--output",
    type=_FILE,
    callback=writable(LEARNED),
    metavar="FILE",
    help="Write what was learned to FILE; it is replaced.",
)
@click.option("--check", "check_file", type=_FILE, metavar="FILE", help="Hold FILE against the engine (exit code 1).")
@case_timeout_option
@json_option
def learn(*, engine_name: str, output: Path | None, check_file: Path | None, case_seconds: float, as_json: bool) -> int:
    """Find out by tiny cases what ENGINE takes and refuses: types, clauses, tables, settings, functions.

    The file says it with the engine's messages, for review. fuzz --capabilities FILE then draws nothing that is
    refused.
    """
    if output is not None and check_file is not None:
        raise click.UsageError("give either --output or --check")
    before = None if check_file is None else read_knowledge(check_file)
    limit = TimeLimit(seconds=case_seconds)
    now = learned_about(engine_of_command(engine_name, limit), limit)
    if output is not None:
        write_learned(output, now)
    changed = () if before is None else changes_since(before, now)
    if as_json:
        emit_json(knowledge_json(now) | ({} if before is None else {"differences": list(changed)}))
    elif before is None:
        _show(now)
    else:
        _show_changed(changed, before, now)
    return ExitCode.MISMATCH if changed else ExitCode.AGREE


def changes_since(before: EngineKnowledge, now: EngineKnowledge) -> tuple[str, ...]:
    """Return the differences between an engine's answers then and now.

    Raises:
        UserInputError: they are about two engines.
    """
    if before.engine != now.engine:
        raise UserInputError(f"the file is about {before.engine}, and this engine is {now.engine}")
    return tuple(differences(before, now))


def learned_about(engine: Engine, limit: TimeLimit) -> EngineKnowledge:
    """Try the probes on an engine; ``limit`` holds for each case."""
    reference = reference_for(engine, Expressions.DUCKDB).evaluate
    checker = Checker(engine=engine, reference=reference, checks=_COMPARED, limit=limit)
    answers = learn_by(probes(), checker.check_case)
    return EngineKnowledge(engine=engine.name, version=engine.version, answers=answers)


def write_learned(path: Path, known: EngineKnowledge) -> None:
    """Write an engine's accepted and refused features; the file is replaced.

    Raises:
        UserInputError: the file cannot be written.
    """
    try:
        write_text(path, knowledge_text(known))
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Give --output another name.") from error
    notice(f"written to {path}")


def _show(known: EngineKnowledge) -> None:
    for (group, name), found in sorted(known.answers.items()):
        if found.answer is not Answer.TAKES:
            show(f"{found.answer.value:<8} {group}: {printable(name)}   {printable(found.message)}".rstrip())
    counts = Counter(found.answer for found in known.answers.values())
    told = ", ".join(f"{answer.value} {counts[answer]}" for answer in Answer if counts[answer])
    show(f"{known.engine} {known.version}, {len(known.answers)} probes: {told}")


def _show_changed(changed: Sequence[str], before: EngineKnowledge, now: EngineKnowledge) -> None:
    for line in changed:
        show(printable(line))
    what = f"{len(changed)} of {len(now.answers)} probes differ" if changed else "nothing differs"
    show(f"{now.engine} {now.version} against {before.version}: {what}")
