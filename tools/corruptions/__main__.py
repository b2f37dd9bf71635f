"""``make corruptions``: record engines' answers to the cases of the known deviations, and write the table of docs/."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.search.session import open_engine
from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.outcome import Outcome, Rejection
from tools.corruptions.answers import FOLDER, answers_to_json, load_answers
from tools.corruptions.table import page
from tools.corruptions.trial import corrupted, tally

if TYPE_CHECKING:
    from mergecheck.harness.deviations.registry import Deviation
    from mergecheck.harness.engine import Engine

PAGE = Path("docs/deviation-corruptions.md")
_SCRATCH = re.compile(r"(file:)?/[^\s:]*mergecheck-[0-9a-f]+")
_TRACE = re.compile(r"\n\s+0: .*", re.DOTALL)


@click.command()
@click.option("--record", "engines", multiple=True, metavar="ENGINE", help="Record this engine's answers anew first.")
def main(engines: tuple[str, ...]) -> None:
    """Corrupt the recorded answers, and write how many corruptions are reported; run it in the repository's folder."""
    for name in engines:
        with open_engine(name) as engine:
            path = Path(FOLDER) / f"{engine.name}.json"
            answers = {entry.id: _answer(entry, engine) for entry in load_deviations().of(engine)}
            path.write_text(answers_to_json(engine, answers), encoding="utf-8")
            click.echo(f"{path}: {len(answers)} answers")
    known, recorded = load_deviations(), load_answers()
    tallies = [tally(entry, corrupted(entry, known, recorded[entry.id])) for entry in known.entries]
    PAGE.write_text(page(tallies, recorded), encoding="utf-8")
    click.echo(f"{PAGE}: {sum(one.num_tried for one in tallies)} corrupted answers")


def _answer(entry: Deviation, engine: Engine) -> Outcome | Rejection:
    answer = engine.run(entry.case)
    if isinstance(answer, Rejection):  # without what differs from run to run
        message = _TRACE.sub("", _SCRATCH.sub("TABLE", answer.message))
        return replace(answer, message=message)
    if not isinstance(answer, Outcome):
        raise EngineDownError(f"{engine.name} does not run the case of {entry.id}: {answer.reason}")
    return answer


if __name__ == "__main__":
    main()
