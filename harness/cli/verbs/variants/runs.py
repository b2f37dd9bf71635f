"""Shared by the verbs ``variants`` and ``bisect``: running variants, progress, the exit code."""

from __future__ import annotations

import itertools
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.cli.output.status_line import StatusLine
from mergecheck.harness.engines.spark_versions.plugins import given_plugin, known_plugin
from mergecheck.harness.oracles.engine_call import run_limited
from mergecheck.harness.oracles.reference_oracle import reference_of
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT
from mergecheck.harness.properties.case_space import CaseSpace
from mergecheck.harness.search.session import WARM_UP, cases_for, left_out, open_engine, rerun_on
from mergecheck.harness.search.stream import Drawn, Draws
from mergecheck.harness.variants.judge import Ending, VariantChecker
from mergecheck.harness.variants.variant import PLUGIN, axes_of
from mergecheck.harness.variants.variants_run import LIMITS, VariantRun
from mergecheck.harness.variants.with_plugin import with_plugin
from mergecheck.harness.verdict import ExitCode, UserInputError, Verdict
from mergecheck.model.axis import every_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engines.spark_versions.plugins import Plugin
    from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
    from mergecheck.harness.findings.store import FindingsDirectory
    from mergecheck.harness.variants.counts import Counts
    from mergecheck.harness.variants.finding import VariantFinding
    from mergecheck.model.case import Case

MOST_DRAWS = 25
"""Draws for one case to which an asked variant applies; the rarest applies to about one case in ten."""

MOST_BATCH_DRAWS = 4
"""Draws for one batch: about half of the cases cannot be in one."""

variant_option = click.option(
    "--variant",
    "names",
    multiple=True,
    metavar="NAME",
    help="AXIS=VALUE, or several separated by commas as one variant. Repeat it for more variants; all if left out.",
)


def plugin_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name a plugin of Spark by its settings."""
    for option in (
        click.option(
            "--proof",
            multiple=True,
            metavar="OPERATOR",
            help="With --spark-conf: an operator that only the plugin has, such as 'Gluten*'. Repeat it for more.",
        ),
        click.option(
            "--spark-conf",
            "spark_settings",
            multiple=True,
            metavar="NAME=VALUE",
            help="A setting of Spark's start, such as spark.plugins=NAME: cases also run under it. Repeat it.",
        ),
    ):
        command = option(command)
    return command


def chosen_variants(
    names: tuple[str, ...], spark_settings: tuple[str, ...] = (), proof: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], Plugin | None]:
    """Read the plugin that variants need, and return their names, also of the one that options give.

    Raises:
        UserInputError: if there are two plugins.
    """
    parts = [part.strip().removeprefix(f"{PLUGIN}=") for name in names for part in name.split(",")]
    plugins = [plugin for part in parts if (plugin := known_plugin(part)) is not None]
    if spark_settings or proof:
        given = given_plugin(spark_settings, proof)
        plugins.append(given)
        names = (*names, f"{PLUGIN}={given.name}")
    if len(plugins) > 1 and any(plugin != plugins[0] for plugin in plugins):
        raise UserInputError("a run has one plugin: give one of --variant PLUGIN and --spark-conf")
    return names, plugins[0] if plugins else None


def exit_code(run: VariantRun, *, required: tuple[str, ...] = (), required_paths: tuple[str, ...] = ()) -> ExitCode:
    """Return the exit code of a run. An operator or a path that should have run and did not makes it inconclusive."""
    counts = run.counts
    if run.found:
        return ExitCode.MISMATCH
    if counts.bases[Verdict.ENGINE_ERROR] or counts.endings[Ending.ENGINE_ERROR]:
        return ExitCode.ENGINE
    judged = counts.endings[Ending.EQUAL] + counts.endings[Ending.EXEMPT] + counts.endings[Ending.KNOWN]
    missing = counts.missing(required) or counts.missing_paths(required_paths)
    if not judged or counts.num_flaky or counts.unseen() or missing:
        return ExitCode.INCONCLUSIVE
    return ExitCode.AGREE


def run_variants(
    engine_name: str,
    given: list[Case] | None,
    *,
    names: tuple[str, ...],
    plugin: Plugin | None = None,
    deviations: Deviations,
    seed: int = 0,
    first: int = 0,
    batch_size: int = 1,
    max_cases: int | None = None,
    max_seconds: float | None = None,
    max_findings: int | None = None,
    unset: frozenset[str] = frozenset(),
    findings: FindingsDirectory | None = None,
    limits: ShrinkLimits | None = None,
) -> tuple[VariantRun, bool]:
    """Run given cases, or random ones, under variants on an engine, and show progress.

    ``limits`` bounds the shrinking of each finding. The other arguments are options of the verbs.

    Returns:
        The run, and whether Ctrl+C ended it.

    Raises:
        UserInputError: the engine has no such axis, or declares an axis that cannot be used.
        EngineDownError: the engine does not start.
    """
    with _Progress() as progress, open_engine(engine_name) as plain, ExitStack() as stack:
        engine = plain
        if plugin is not None:
            engine = stack.enter_context(closing(with_plugin(plain, engine_name, plugin)))
        axes = axes_of(engine, plugin)
        only = tuple(axes.named(name) for name in names)
        # the axes give their settings to variants, so that the cases carry none
        focus, avoid = axes.favoured(only)
        undrawn = focus & left_out(engine)
        cases = cases_for(engine, focus=focus - undrawn, avoid=avoid, draws_settings=False)
        draws = Draws(cases, seed=seed, first=first, reference=reference_of(engine), batch_size=batch_size)
        run = VariantRun(
            VariantChecker(
                engine,
                axes=axes,
                deviations=deviations,
                rerun=rerun_on(engine_name, deviations=deviations),
            ),
            findings=findings,
            only=only,
            plugin=plugin,
            unset=unset,
            limits=limits or LIMITS,
            listener=progress.found,
            progress=progress.at,
        )
        run.counts.undrawn = axes.asking_for(only, undrawn) if given is None else {}
        run_limited(engine, WARM_UP, DEFAULT_LIMIT)
        stream = _drawn(draws, max_cases, run) if given is None else given[:max_cases]
        try:
            with interrupts_kept():
                run.run(stream, max_seconds=max_seconds, max_findings=max_findings)
        except KeyboardInterrupt:
            return run, True
    return run, False


class _Progress(StatusLine):
    """Shows the progress of a run and its findings."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counts | None = None
        self._num_found = 0
        self._since = time.monotonic()

    def found(self, finding: VariantFinding) -> None:
        self._num_found += 1
        saved = "" if finding.path is None else f"\n  saved to {finding.path}"
        self.print(f"difference: {finding.fingerprint}{saved}")

    def at(self, counts: Counts) -> None:
        self._counts = counts
        self.print_periodically()

    def line(self) -> str:
        seconds = f"{time.monotonic() - self._since:.0f} s"
        if self._counts is None:
            return f"starting the engine  {seconds}"
        counts = self._counts
        cases = f"{counts.num_cases} cases" + (f" with {counts.num_batched} pairs" if counts.num_batched else "")
        runs = f"{counts.num_variants} runs of variants  {counts.num_compared} comparisons"
        return f"{cases}  {runs}  findings {self._num_found}  {seconds}"


def _drawn(draws: Draws, max_cases: int | None, run: VariantRun) -> Iterator[Drawn]:
    """Draw cases to which some variant that was asked for applies, as far as a few more draws give such cases.

    Three of four should have what the variant's path needs; the others may have anything.
    """
    for number in itertools.count() if max_cases is None else range(max_cases):
        favours = every_case if number % 4 == 0 else run.favours
        for _ in range(MOST_BATCH_DRAWS):
            if run.only:
                drawn = draws.draw_wanted(run.wants, favours=favours, most=MOST_DRAWS)
            else:
                drawn = draws.draw(CaseSpace())
            if not run.takes_batches:
                break
            drawn = draws.batched(drawn)
            if drawn.singles or not draws.makes_batches:
                break
        yield drawn
