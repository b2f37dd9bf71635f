"""``mergecheck engine new``: write the template of an engine."""

from __future__ import annotations

from pathlib import Path

import click

from mergecheck.harness.cli.options import json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.lab.conformance.new_engine import write_new_engine
from mergecheck.harness.verdict import ExitCode


@click.command(name="new-engine")
@click.argument("name", metavar="NAME")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where to write it; a new folder NAME if left out.",
)
@json_option
def new_engine(*, name: str, directory: Path | None, as_json: bool) -> int:
    """Write a Python package with a small working engine, for you to replace with your own."""
    folder = directory or Path(name)
    files = write_new_engine(name, folder)
    module = next(file.stem for file in files if file.name.endswith("_engine.py") and not file.name.startswith("test_"))
    class_name = "".join(map(str.capitalize, name.split("-"))) + "Engine"
    if as_json:
        emit_json({"files": [str(file) for file in files], "engine": f"{module}:{class_name}"})
        return ExitCode.AGREE
    show("\n".join(f"wrote {file}" for file in files))
    show(f"try it:  cd {folder} && mergecheck engine conform {module}:{class_name}")
    return ExitCode.AGREE
