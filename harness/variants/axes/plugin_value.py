"""The axis of plugins: the same merge without a plugin of Spark and under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark_versions.plugins import PLUGIN_SETTING
from mergecheck.harness.variants.axes.axis import WRITTEN, Axis, AxisValue, Exemption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.harness.engines.spark_versions.plugins import Plugin


def plugin_value(plugin: Plugin, switched_off: Mapping[str, str] | None = None) -> AxisValue:
    """Make the value of the axis for a plugin.

    Args:
        plugin: its shuffle may write other files; nothing else may change.
        switched_off: settings that switch off parts of it.
    """
    return AxisValue(
        axis=Axis.PLUGIN,
        name=plugin.name,
        sentence=f"Spark runs under the plugin {plugin.name}",
        settings={PLUGIN_SETTING: plugin.name, **(switched_off or {})},
        exemptions=(Exemption(rules=("R-542", "R-543", "R-550"), metrics=WRITTEN),),
        plan=plugin.proof,
    )
