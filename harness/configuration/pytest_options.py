"""The options of the pytest plugin, made from the configuration's schema, and the values that apply."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mergecheck.harness.configuration.configuration import Configuration, load_configuration
from mergecheck.harness.configuration.schema import check, keys_of, load_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

PREFIX = "--mergecheck-"
_TABLE = "pytest"


@dataclass(frozen=True, slots=True)
class PytestSettings:
    """The values of all options.

    Attributes:
        values: by key, defaults included.
        title: the configuration and the profile that are used; empty if none is.
    """

    values: Mapping[str, Any]
    title: str

    @property
    def is_in_use(self) -> bool:
        """Whether the plugin has a case to check."""
        return bool(self.values["case"]) or self.values["fuzz"] > 0


def add_options(group: pytest.OptionGroup) -> None:
    """Add an option for every key of the table ``pytest``."""
    for key, part in keys_of(load_schema(), _TABLE).items():
        group.addoption(f"{PREFIX}{key}", default=None, help=_help(part), **_reading(part))
    group.addoption(f"{PREFIX}profile", metavar="NAME", help="Use the values of a profile of the configuration.")
    group.addoption(f"{PREFIX}config", metavar="FILE", help="The configuration; by default it is searched upwards.")


def settings_of_pytest(config: pytest.Config) -> PytestSettings:
    """Return the values of options, else of the configuration, else the defaults.

    Raises:
        UserInputError: an option or the configuration is not valid.
    """
    file = config.getoption(f"{PREFIX}config")
    configuration = load_configuration(
        config.invocation_params.dir,
        environment=os.environ,
        config=Path(file) if file else None,
        profile=config.getoption(f"{PREFIX}profile"),
    )
    keys = keys_of(configuration.schema, _TABLE)
    options = {key: value for key in keys if (value := config.getoption(f"{PREFIX}{key}")) is not None}
    table = {"properties": keys, "additionalProperties": False}
    check(options, table, where="pytest", prefix=PREFIX)
    settings = configuration.settings(_TABLE, given=tuple(options))
    if not _runs_code_of(configuration, config.rootpath):
        configuration.require_trust(settings)
    defaults = {key: _default(part) for key, part in keys.items()}
    found = {key: setting.value for key, setting in settings.items()}
    return PytestSettings({**defaults, **found, **options}, configuration.title if settings else "")


def _runs_code_of(configuration: Configuration, root: Path) -> bool:
    """Return whether pytest runs code of the configuration's folder anyway: a conftest.py, and its tests."""
    if configuration.file is None:
        return True
    folder = configuration.file.folder.resolve()
    return root.is_relative_to(folder) or folder.is_relative_to(root)


def _default(part: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any value of an option
    return part.get("default", [] if "anyOf" in part else None)


def _help(part: Mapping[str, Any]) -> str:
    default = part.get("default")
    shown = f" (default: {default})" if default else ""
    return f"{part.get('description', '')}{shown}".replace("%", "%%")


def _reading(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form in which pytest reads an option; ``check`` judges the value."""
    is_path = part.get("anyOf", [part])[0].get("format") == "path"
    metavar = "PATH" if is_path else "NAME"
    if "anyOf" in part:
        return {"action": "append", "metavar": metavar}
    if part["type"] == "boolean":
        return {"action": "store_true"}
    numbers: dict[str, Any] = {"integer": {"type": int, "metavar": "N"}, "number": {"type": float, "metavar": "X"}}
    reading: dict[str, Any] = numbers.get(part["type"], {"metavar": metavar})
    return {**reading, "choices": part["enum"]} if "enum" in part else reading
