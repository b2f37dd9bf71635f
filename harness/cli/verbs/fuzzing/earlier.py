"""Earlier runs that a run is held beside: ``--baseline``, ``--fail-if-worse`` and ``--history``."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.report.baseline import Comparison, read_baseline
from mergecheck.harness.report.fuzz_figures import read_history

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.report.fuzz_figures import RunFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRuns:
    """Earlier runs of the engine.

    Attributes:
        baseline: the run to compare with.
        fail_if_worse: whether a run that is much worse is inconclusive.
        history: the runs of the HTML report's trend, the oldest first.
    """

    baseline: RunFigures | None = None
    fail_if_worse: bool = False
    history: tuple[RunFigures, ...] = ()

    def compared(self, now: RunFigures) -> Comparison | None:
        """Hold a run beside the baseline; None if there is none."""
        return None if self.baseline is None else Comparison(baseline=self.baseline, now=now)

    def missed(self, now: RunFigures) -> tuple[str, ...]:
        """Return why a run fails because it is much worse than the baseline; empty if it does not."""
        compared = self.compared(now)
        return compared.worse() if compared is not None and self.fail_if_worse else ()


def earlier_runs_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options, and hand the runs that they name to the command as ``earlier``; they are read before it runs."""

    @functools.wraps(command)
    def with_earlier(
        *,
        baseline_file: Path | None,
        fail_if_worse: bool,
        history_paths: tuple[Path, ...],
        **values: Any,  # noqa: ANN401 - click passes options of any type
    ) -> Any:  # noqa: ANN401 - the same
        if fail_if_worse and baseline_file is None:
            raise click.UsageError("--fail-if-worse needs --baseline FILE")
        if history_paths and values["html_file"] is None:
            raise click.UsageError("--history draws a trend in the HTML report: give --html FILE, too")
        engine = values["engine_name"]
        earlier = EarlierRuns(
            baseline=None if baseline_file is None else read_baseline(baseline_file, engine=engine),
            fail_if_worse=fail_if_worse,
            history=read_history(history_paths, engine=engine),
        )
        return command(earlier=earlier, **values)

    for option in (
        click.option(
            "--history",
            "history_paths",
            type=click.Path(path_type=Path, exists=True),
            multiple=True,
            metavar="PATH",
            help="Earlier results of fuzz --json, files or folders: the HTML report shows a trend; may be repeated.",
        ),
        click.option(
            "--fail-if-worse",
            is_flag=True,
            help="A run that is much worse than the baseline is inconclusive (exit code 4).",
        ),
        click.option(
            "--baseline",
            "baseline_file",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            metavar="FILE",
            help="A result of fuzz --json: say if this run is much slower or verifies much less.",
        ),
    ):
        with_earlier = option(with_earlier)
    return with_earlier
