"""``mergecheck config``: the values of all options with their origin, and the schema of the configuration."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from mergecheck.harness.cli.configured.command import VARIABLES
from mergecheck.harness.cli.options import json_option
from mergecheck.harness.cli.output.terminal import emit_json, notice, show, show_table
from mergecheck.harness.configuration import Configuration, Setting, load_configuration
from mergecheck.harness.configuration.configuration import CONFIG_VARIABLE
from mergecheck.harness.configuration.schema import closest, keys_of, verbs_of
from mergecheck.harness.report.render import printable
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@click.command(name="show")
@click.argument("verbs", nargs=-1, metavar="[VERB]...")
@click.option("--profile", metavar="NAME", help="As if the verbs were called with this profile.")
@click.option("--config", "file", type=click.Path(path_type=Path), metavar="FILE", help="The configuration to show.")
@json_option
def show_config(*, verbs: tuple[str, ...], profile: str | None, file: Path | None, as_json: bool) -> None:
    """Show the values that verbs would use, each with its origin.

    Without VERB: what the configuration, its profile or the environment set for any verb. With VERB: all its options.
    """
    configuration = load_configuration(Path.cwd(), environment=os.environ, config=file, profile=profile)
    known = verbs_of(configuration.schema)
    names = tuple(verb.replace(" ", "-") for verb in verbs)
    for name in names:
        if name not in known:
            raise UserInputError(f"there is no verb {name!r} that can be configured. {closest(name, known)}")
    values = [
        (verb, key, setting)
        for verb in names or known
        for key, setting in _values(configuration, verb, with_defaults=bool(names))
    ]
    if as_json:
        emit_json(_document(configuration, values))
    else:
        _print(configuration, values)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="FOLDER")
@click.option("--remove", is_flag=True, help="Trust it no more.")
@json_option
def trust(*, folder: Path, remove: bool, as_json: bool) -> None:
    """Let the configuration that a run in FOLDER finds import code, connect, and read and write elsewhere.

    Trust holds for the settings that need it as they are now; the command shows them. It is kept in your own settings.
    """
    if not folder.is_dir():
        raise UserInputError(f"{folder} is no folder. Name the folder of a configuration, for example: config trust .")
    found = load_configuration(
        folder, environment={name: value for name, value in os.environ.items() if name != CONFIG_VARIABLE}
    )
    if found.file is None or found.trusted is None:
        raise UserInputError(f"{folder.resolve()} has no configuration: there is nothing to trust")
    needing = found.needs_trust
    path = printable(str(found.file.path))
    if remove:
        was_trusted = found.trusted.remove(found.file)
        told = f"{path} is trusted no more" if was_trusted else f"{path} was not trusted"
    elif needing:
        found.trusted.add(found.file, [(one.name, one.value) for one in needing])
        told = "\n".join([f"{path} is trusted with:", *(f"  {printable(str(one))}" for one in needing)])
    else:
        told = f"{path} sets nothing that needs trust"
    if as_json:
        settings = [{"setting": one.name, "value": one.value, "reason": one.reason} for one in needing]
        emit_json({"file": str(found.file.path), "trusted": bool(needing) and not remove, "settings": settings})
    else:
        show(told)


@click.command()
def schema() -> None:
    """Print the JSON schema of the configuration, for editors."""
    show(json.dumps(load_configuration(Path.cwd(), environment={}).schema, indent=1))


def _values(configuration: Configuration, verb: str, *, with_defaults: bool) -> Iterator[tuple[str, Setting]]:
    keys = keys_of(configuration.schema, verb)
    variables = {
        key: Setting(os.environ[variable], f"${variable}")
        for key, variable in VARIABLES.items()
        if key in keys and os.environ.get(variable)
    }
    found = configuration.settings(verb, given=tuple(variables)) | variables
    for key, part in keys.items():
        if key in found:
            yield key, found[key]
        elif with_defaults:
            yield key, Setting(part.get("default"), "default")


def _document(configuration: Configuration, values: Sequence[tuple[str, str, Setting]]) -> dict[str, Any]:
    verbs: dict[str, dict[str, Any]] = {}
    for verb, key, setting in values:
        verbs.setdefault(verb, {})[key] = {"value": setting.value, "origin": setting.origin}
    return {
        "file": None if configuration.file is None else str(configuration.file.path),
        "is_trusted": configuration.is_trusted,
        "profile": configuration.profile,
        "profiles": list(configuration.profiles),
        "not_used": None if configuration.outside is None else str(configuration.outside),
        "verbs": verbs,
    }


def _print(configuration: Configuration, values: Sequence[tuple[str, str, Setting]]) -> None:
    file = "none" if configuration.file is None else str(configuration.file.path)
    show(f"file      {file}")
    if not configuration.is_trusted:
        notice(
            "the file is not trusted: "
            + "; ".join(str(one) for one in configuration.needs_trust)
            + ". See mergecheck config trust --help"
        )
    show(f"profile   {configuration.profile or 'none'}   (there are: {', '.join(configuration.profiles)})")
    if configuration.outside is not None:
        notice(f"{configuration.outside} lies outside of the project and is not used")
    if not values:
        show("\nnothing is set; all options have their defaults")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("option", "value", "origin", "verbs"):
        table.add_column(heading, overflow="fold")
    together: dict[tuple[str, str, str], list[str]] = {}
    for verb, key, setting in values:
        value = "" if setting.value is None else json.dumps(setting.value, ensure_ascii=False)
        together.setdefault((key, value, setting.origin), []).append(verb)
    for (key, value, origin), verbs in sorted(together.items()):
        table.add_row(key, value, origin, ", ".join(verbs))
    show("")
    show_table(table)
