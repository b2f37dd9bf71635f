"""Shared by the verbs ``variants`` and ``bisect``: running variants, progress, the exit code."""

from __future__ import annotations

import itertools
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.cli.output.status_line import StatusLine
from mergecheck.harness.engine import ConfigurableEngine
from mergecheck.harness.engines.registry import engines_with
from mergecheck.harness.engines.spark_versions.plugins import given_plugin, known_plugin
from mergecheck.harness.oracles.engine_call import run_limited
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT
from mergecheck.harness.properties.case_space import CaseSpace
from mergecheck.harness.search.session import WARM_UP, cases_for, open_engine, rerun_on
from mergecheck.harness.search.stream import Drawn, Draws
from mergecheck.harness.variants.axes.plugin_value import plugin_value
from mergecheck.harness.variants.axes.variant import Variant, variant_named
from mergecheck.harness.variants.judge import Ending, VariantChecker
from mergecheck.harness.variants.variants_run import LIMITS, VariantRun
from mergecheck.harness.variants.with_plugin import with_plugin
from mergecheck.harness.verdict import ExitCode, UserInputError, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.engines.spark_versions.plugins import Plugin
    from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
    from mergecheck.harness.findings.store import FindingsDirectory
    from mergecheck.harness.variants.counts import Counts
    from mergecheck.harness.variants.finding import VariantFinding
    from mergecheck.model.case import Case

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
    names: tuple[str, ...], spark_settings: tuple[str, ...], proof: tuple[str, ...]
) -> tuple[tuple[Variant, ...], Plugin | None]:
    """Read the variants, and the plugin that they need.

    Raises:
        UserInputError: if there is no such variant, or there are two plugins.
    """
    only = tuple(variant_named(name) for name in names)
    parts = [part.strip().removeprefix("plugin=") for name in names for part in name.split(",")]
    plugins = [plugin for part in parts if (plugin := known_plugin(part)) is not None]
    if spark_settings or proof:
        given = given_plugin(spark_settings, proof)
        plugins.append(given)
        only = (*only, Variant((plugin_value(given),)))
    if len(plugins) > 1 and any(plugin != plugins[0] for plugin in plugins):
        raise UserInputError("a run has one plugin: give one of --variant PLUGIN and --spark-conf")
    return only, plugins[0] if plugins else None


def exit_code(run: VariantRun, *, required: tuple[str, ...]) -> ExitCode:
    """Return the exit code of a run. An operator that should have run and did not makes it inconclusive."""
    counts = run.counts
    if run.found:
        return ExitCode.MISMATCH
    if counts.bases[Verdict.ENGINE_ERROR] or counts.endings[Ending.ENGINE_ERROR]:
        return ExitCode.ENGINE
    judged = counts.endings[Ending.EQUAL] + counts.endings[Ending.EXEMPT] + counts.endings[Ending.KNOWN]
    if not judged or counts.num_flaky or counts.unseen() or counts.missing(required):
        return ExitCode.INCONCLUSIVE
    return ExitCode.AGREE


def run_variants(
    engine_name: str,
    given: list[Case] | None,
    *,
    only: tuple[Variant, ...],
    plugin: Plugin | None = None,
    deviations: Deviations,
    seed: int = 0,
    first: int = 0,
    batch_size: int = 1,
    max_cases: int | None = None,
    max_seconds: float | None = None,
    findings: FindingsDirectory | None = None,
    limits: ShrinkLimits | None = None,
) -> tuple[VariantRun, bool]:
    """Run given cases, or random ones, under variants on an engine, and show progress.

    ``limits`` bounds the shrinking of each finding. The other arguments are options of the verbs.

    Returns:
        The run, and whether Ctrl+C ended it.

    Raises:
        UserInputError: the engine takes no Spark settings.
        EngineDownError: the engine does not start.
    """
    with _Progress() as progress, open_engine(engine_name) as plain, ExitStack() as stack:
        engine = plain
        if plugin is not None:
            engine = stack.enter_context(closing(with_plugin(plain, engine_name, plugin)))
        draws = Draws(cases_for(engine), seed=seed, first=first, batch_size=batch_size)
        run = VariantRun(
            VariantChecker(
                _configurable(engine, engine_name),
                deviations=deviations,
                rerun=rerun_on(engine_name, deviations=deviations),
            ),
            findings=findings,
            only=only,
            plugin=plugin,
            limits=limits or LIMITS,
            listener=progress.found,
            progress=progress.at,
        )
        run_limited(engine, WARM_UP, DEFAULT_LIMIT)
        cases = _drawn(draws, max_cases) if given is None else given[:max_cases]
        try:
            with interrupts_kept():
                run.run(cases, max_seconds=max_seconds)
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
        return f"{cases}  {counts.num_variants} runs of variants  findings {self._num_found}  {seconds}"


def _drawn(draws: Draws, max_cases: int | None) -> Iterator[Drawn]:
    for _ in itertools.count() if max_cases is None else range(max_cases):
        yield draws.batched(draws.draw(CaseSpace()))


def _configurable(engine: Engine, name: str) -> ConfigurableEngine:
    if isinstance(engine, ConfigurableEngine):
        return engine
    raise UserInputError(
        f"engine {name!r} takes no Spark settings, so it has no variants. Installed engines that do: "
        f"{', '.join(engines_with('run_recorded')) or 'none'}. An engine of your own needs run_recorded "
        "(mergecheck.harness.engine.ConfigurableEngine)."
    )
