"""``mergecheck engine list``: the engines of the installed packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.options import json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.configuration.extras import install_command, missing_packages
from mergecheck.harness.engines.registry import DEFAULT_ENGINE, engines_with, extra_of, known_engines
from mergecheck.harness.report.render import printable
from mergecheck.harness.verdict import ExitCode

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@click.command(name="list")
@json_option
def list_engines(*, as_json: bool) -> int:
    """List the engines that installed packages bring along, and whether they take a release: NAME@VERSION.

    An engine whose extra is not installed is listed with the command that installs it.
    """
    with_releases = engines_with("at_version")
    engines = known_engines()
    if as_json:
        emit_json({"engines": [_entry(one, with_releases) for one in engines], "default": DEFAULT_ENGINE})
        return ExitCode.AGREE
    for one in engines:
        release = f"or {one.name}@VERSION" if one.name in with_releases else ""
        default = "the default" if one.name == DEFAULT_ENGINE else ""
        extra = _missing_extra(one)
        notes = ", ".join(filter(None, (release, default, f"the extra {extra!r} is not installed" if extra else "")))
        show(f"{printable(one.name):<14} {printable(one.value)}{f'   ({notes})' if notes else ''}")
        if extra:
            show(f"    {install_command(extra)}")
    show("Any other class: package.module:Class (mergecheck engine new writes a template).")
    return ExitCode.AGREE


def _entry(entry: EntryPoint, with_releases: tuple[str, ...]) -> dict[str, object]:
    extra = _missing_extra(entry)
    return {
        "name": entry.name,
        "class": entry.value,
        "takes_release": entry.name in with_releases,
        "missing_extra": extra,
        "install": "" if extra is None else install_command(extra),
    }


def _missing_extra(entry: EntryPoint) -> str | None:
    """Name the extra of an engine if a package of it is not installed."""
    extra = extra_of(entry)
    return extra if extra is not None and missing_packages(extra) else None
