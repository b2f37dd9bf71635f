"""Pairs an engine with the same engine under a plugin of Spark; a setting of the case chooses between the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark_versions.plugins import PLUGIN_SETTING, PluggableEngine
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from mergecheck.harness.engine import ConfigurableEngine, Engine, Recorded
    from mergecheck.harness.engines.spark_versions.plugins import Plugin
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult


class EngineWithPlugin:
    """Runs a case on the plain engine, or under the plugin if the case's setting asks for it.

    Args:
        plain: the engine, which its owner closes.
        plugin: the plugin of the other engine.

    Raises:
        EngineDownError: if the plugin's jars cannot be had.
    """

    def __init__(self, plain: PluggableEngine, plugin: Plugin) -> None:
        self.name, self.version, self.capabilities = plain.name, plain.version, plain.capabilities
        self._plain = plain
        self._plugged = plain.with_plugin(plugin)

    def run(self, case: Case) -> EngineResult:
        """Run one case."""
        return self._engine_of(case).run(case)

    def run_recorded(self, case: Case) -> Recorded:
        """Run one case, and record the plans of the merge."""
        return self._engine_of(case).run_recorded(case)

    def close(self) -> None:
        """Close the one under the plugin."""
        self._plugged.close()

    def _engine_of(self, case: Case) -> ConfigurableEngine:
        return self._plugged if PLUGIN_SETTING in case.conf else self._plain


def with_plugin(engine: Engine, name: str, plugin: Plugin) -> EngineWithPlugin:
    """Put an engine beside itself under a plugin.

    Raises:
        UserInputError: if the engine cannot be started with a plugin.
        EngineDownError: if the plugin's jars cannot be had.
    """
    if isinstance(engine, PluggableEngine):
        return EngineWithPlugin(engine, plugin)
    raise UserInputError(
        f"engine {name!r} cannot be started under a plugin of Spark. Name a release on a Spark of its own, such as "
        "delta-spark@3.3.2+spark3.5 (docs/spark-versions.md)"
    )
