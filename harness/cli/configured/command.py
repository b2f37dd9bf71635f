"""A verb whose options come from the configuration if the command line does not give them."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.cli.configured.options import configured_options, key_of
from mergecheck.harness.cli.output.terminal import notice
from mergecheck.harness.configuration import Configuration, load_configuration
from mergecheck.harness.configuration.configuration import CONFIG_VARIABLE, PROFILE_VARIABLE
from mergecheck.harness.engines.spark.config import MASTER_VARIABLE, REMOTE_VARIABLE, TABLE_ROOT_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES = {"master": MASTER_VARIABLE, "remote": REMOTE_VARIABLE, "table-root": TABLE_ROOT_VARIABLE}
"""The options that have an environment variable, which wins over the configuration."""


_HELP = frozenset({"--help", "-h"})


def config_options() -> list[click.Option]:
    """Return the options that choose the configuration; their values are not passed on."""
    return [
        click.Option(
            ["--profile"],
            metavar="NAME",
            expose_value=False,
            help=f"Use the values of a profile of the configuration. [env: {PROFILE_VARIABLE}]",
        ),
        click.Option(
            ["--config"],
            metavar="FILE",
            expose_value=False,
            help=f"The configuration; by default it is searched upwards. [env: {CONFIG_VARIABLE}]",
        ),
    ]


def configured(command: click.Command, name: str, shown: Mapping[str, tuple[str, ...]] | None = None) -> click.Command:
    """Return a verb that obeys the configuration, or the verb itself if it has nothing to configure.

    Args:
        command: the verb, which stays as it is, or a group of verbs.
        name: its name in the configuration, such as ``fuzz`` or ``cases-show``.
        shown: the options that its help describes, by section; all if left out.
    """
    if isinstance(command, click.Group):
        group = copy.copy(command)
        group.commands = {verb: configured(one, f"{name}-{verb}") for verb, one in command.commands.items()}
        return group
    return ConfiguredCommand(command, name, shown or {}) if configured_options(command) else command


def environment_options(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the options that the environment gives."""
    return tuple(key for key, variable in VARIABLES.items() if environment.get(variable))


class ConfiguredCommand(click.Command):
    """A verb with the options ``--profile`` and ``--config``; the configuration's values are its defaults.

    Args:
        command: the verb as it was written.
        name: its name in the configuration.
        shown: the options that its help describes, by section; all if there are none.
    """

    def __init__(self, command: click.Command, name: str, shown: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(
            command.name,
            context_settings=command.context_settings,
            callback=command.callback,
            params=[*command.params, *config_options()],
            help=command.help,
            epilog=command.epilog,
            short_help=command.short_help,
            options_metavar=command.options_metavar,
        )
        self.key = name
        """The name of its table in the configuration."""
        self._shown = shown

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Describe the options, by section if there are any; the others are named as settings."""
        if not self._shown:
            super().format_options(ctx, formatter)
            return
        records = {max(one.opts, key=len)[2:]: one.get_help_record(ctx) for one in self.get_params(ctx)}
        for title, names in self._shown.items():
            with formatter.section(title):
                formatter.write_dl([record for name in names if (record := records.get(name))])
        described = {name for names in self._shown.values() for name in names}
        with formatter.section(f"Settings, which are options too (mergecheck config show {self.key})"):
            formatter.write_text(", ".join(sorted(name for name in records if name not in described)))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; the configuration gives the options missing there."""
        given = self._given(args)
        names = {key_of(one) for one in self.params if one.name in given}
        configuration = load_configuration(
            Path.cwd(),
            environment=os.environ,
            config=Path(given["config"]) if given.get("config") else None,
            profile=given.get("profile"),
        )
        keys = [key for key in names if key is not None]
        settings = configuration.settings(self.key, given=[*keys, *environment_options(os.environ)])
        if not _HELP & {*args}:  # before an option of the configuration is looked at
            configuration.require_trust(settings)
        options = configured_options(self)
        ctx.default_map = {str(options[key].name): setting.value for key, setting in settings.items()}
        remaining = super().parse_args(ctx, args)
        if not (ctx.params.get("quiet") or ctx.resilient_parsing):
            _say(configuration, is_used=bool(settings))
        return remaining

    def _given(self, args: list[str]) -> dict[str, Any]:
        """Return the options of a command line; mistakes in it are reported at the final parse."""
        if _HELP & {*args}:
            return {}
        lenient = click.Context(self, info_name=self.name, resilient_parsing=True)
        lenient.ignore_unknown_options = True
        values, _, _ = self.make_parser(lenient).parse_args(list(args))
        return {name: value for name, value in values.items() if value is not None}


def _say(configuration: Configuration, *, is_used: bool) -> None:
    if is_used:
        notice(configuration.title)
    if configuration.outside is not None:
        notice(
            f"{configuration.outside} is not used: it lies outside of this repository and of your home folder. "
            f"Name it with --config {configuration.outside} to use it."
        )
