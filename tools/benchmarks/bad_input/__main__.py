"""How the command line takes bad input: ``python -m tools.benchmarks.bad_input --count 20000 --seed 1``.

Saved cases, statements, settings, sequences, scale specs, deviations files, Delta logs and flags are damaged. Each must
end in an answer, or in exit code 2 or 3 with one message. Ends with exit code 1 if one does not.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter
from pathlib import Path

import click

from tools.benchmarks.bad_input.inputs import bad_inputs
from tools.benchmarks.bad_input.trials import Outcome, Trial, input_folder, try_here, try_process

_MOST_FAULTS = 40
_SECONDS_BETWEEN_LINES = 60.0


@click.command()
@click.option("--count", default=20_000, show_default=True, help="How many inputs.")
@click.option("--seed", default=1, show_default=True)
@click.option("--first", default=0, help="The number of the first input, to look at one again or to run in parts.")
@click.option("--processes", default=100, show_default=True, help="So many of them run as processes of their own.")
@click.option("--keep", type=click.Path(path_type=Path), help="Save the inputs that are taken wrongly in this folder.")
def main(count: int, seed: int, first: int, processes: int, keep: Path | None) -> None:
    """Try bad inputs and print the counts by kind and outcome."""
    counts: Counter[tuple[str, Outcome]] = Counter()
    slowest: list[Trial] = []
    faults: list[tuple[int, Trial]] = []
    every = max(1, count // processes) if processes else count + 1
    last_line = time.monotonic()
    for number, given in enumerate(itertools.islice(bad_inputs(seed, first=first), count), start=first):
        with input_folder(given) as folder:
            trial = (try_process if number % every == every - 1 else try_here)(given, folder)
        counts[given.kind, trial.outcome] += 1
        slowest = sorted([*slowest, trial], key=lambda trial: -trial.seconds)[:3]
        if trial.outcome.is_fault:
            faults.append((number, trial))
            if keep is not None:
                _save(trial, keep / str(number))
        if time.monotonic() - last_line > _SECONDS_BETWEEN_LINES:
            last_line = time.monotonic()
            click.echo(f"{number + 1 - first} inputs, {len(faults)} faults", err=True)
    _show(counts)
    for trial in slowest:
        click.echo(f"slowest: {trial.seconds:.1f} s  {trial.given.kind}  {trial.outcome.value}")
    for number, trial in faults[:_MOST_FAULTS]:
        click.echo(f"\n--seed {seed} --first {number} --count 1: {trial.given.kind}: {trial.outcome.value}")
        click.echo("  " + ascii(trial.output[-600:]))
    sys.exit(bool(faults))


def _show(counts: Counter[tuple[str, Outcome]]) -> None:
    kinds = sorted({kind for kind, _ in counts})
    for outcome in Outcome:
        numbers = [counts[kind, outcome] for kind in kinds]
        if sum(numbers):
            click.echo(f"{sum(numbers):>7}  {outcome.value}")
            click.echo("         " + ", ".join(f"{k} {n}" for k, n in zip(kinds, numbers, strict=True) if n))


def _save(trial: Trial, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for relative, content in trial.given.files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    text = f"{trial.given.arguments!r}\n{trial.code}\n{trial.output}"
    (folder / "outcome.txt").write_text(text, encoding="utf-8", errors="backslashreplace")


if __name__ == "__main__":
    main()
