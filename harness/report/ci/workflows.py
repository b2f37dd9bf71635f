"""Writing the files for CI services that mergecheck ships: workflows of GitHub Actions, and a job of Kubernetes."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from mergecheck.harness.processes.output_files import create
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.text_file import read_ordinary

if TYPE_CHECKING:
    from pathlib import Path

WORKFLOWS = (
    *("mergecheck-pull-request.yml", "mergecheck-nightly.yml", "mergecheck-engine-bump.yml"),
    "mergecheck-ranges.yml",
)
JOBS = ("mergecheck-job.yml",)


def workflow_text(name: str) -> str:
    """Return the text of a file of ``WORKFLOWS`` or ``JOBS``."""
    return (resources.files("mergecheck.harness.report.ci") / "templates" / name).read_text(encoding="utf-8")


def write_workflows(folder: Path, names: tuple[str, ...] = WORKFLOWS) -> tuple[Path, ...]:
    """Write workflows, or jobs; an existing file with the same text stays.

    Returns:
        The files written anew.

    Raises:
        UserInputError: a file exists with another text, and nothing is written; or the folder cannot be written.
    """
    texts = {folder / name: workflow_text(name) for name in names}
    try:
        changed = [path for path, text in texts.items() if path.exists() and read_ordinary(path) != text]
        if changed:
            there = ", ".join(map(str, changed))
            raise UserInputError(
                f"{there}: there with another text, and not overwritten. Use --into DIR for a folder to compare."
            )
        new = tuple(path for path in texts if not path.exists())
        for path in new:
            create(path, texts[path], parents=True)
    except (OSError, UnicodeDecodeError) as error:
        raise UserInputError(f"cannot write to {folder}: {error}. Give another folder with --into DIR.") from error
    return new
