"""``python -m tools.output_mutations ENGINE``: records an engine's answers to the cases of its known deviations."""

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
from tools.output_mutations.answers import FOLDER, answers_to_json

if TYPE_CHECKING:
    from mergecheck.harness.deviations.registry import Deviation
    from mergecheck.harness.engine import Engine

_SCRATCH = re.compile(r"(file:)?/[^\s:]*mergecheck-[0-9a-f]+")
_TRACE = re.compile(r"\n\s+0: .*", re.DOTALL)


@click.command()
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE...")
def main(engines: tuple[str, ...]) -> None:
    """Record the answers of engines to the cases of their known deviations; run it in the repository's folder."""
    for name in engines:
        with open_engine(name) as engine:
            path = Path(FOLDER) / f"{engine.name}.json"
            answers = {entry.id: _answer(entry, engine) for entry in load_deviations().of(engine)}
            path.write_text(answers_to_json(engine, answers), encoding="utf-8")
            click.echo(f"{path}: {len(answers)} answers")


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
