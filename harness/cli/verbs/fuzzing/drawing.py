"""Which random cases are drawn: ``--features-off``, ``--capabilities``, ``--focus`` and what goes with them."""

from __future__ import annotations

import functools
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mergecheck.harness.cli.options import file_option
from mergecheck.harness.cli.output.terminal import notice
from mergecheck.harness.lab.learning.learned import read_knowledge
from mergecheck.harness.lab.learning.probes import probes
from mergecheck.harness.search.changed_files import changed_focus
from mergecheck.harness.search.session import MIN_BOUNDARY
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.lab.learning.learned import EngineKnowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Which features random cases have, and which they lack.

    Attributes:
        features_off: names of features that no case has.
        focus: names of features that more cases than usual may have.
        boundary: most tables have so many rows, or one more or less; None for small ones.
        capabilities_file: the file of features that the engine refuses, None if no file was given.
        known: the content of that file.
    """

    features_off: tuple[str, ...]
    focus: tuple[str, ...]
    boundary: int | None
    capabilities_file: Path | None
    known: EngineKnowledge | None

    @property
    def left_out(self) -> frozenset[str]:
        """Name the features that no case has, those that the engine refuses included."""
        return frozenset(self.features_off) | (frozenset() if self.known is None else self.known.features_off(probes()))

    def flags(self) -> str:
        """Write the options that draw the same cases again, each with a space before it."""
        flags = "".join(f" --features-off {name}" for name in self.features_off)
        flags += "" if self.capabilities_file is None else f" --capabilities {shlex.quote(str(self.capabilities_file))}"
        flags += "".join(f" --focus {name}" for name in dict.fromkeys(self.focus))
        return flags + ("" if self.boundary is None else f" --boundary {self.boundary}")


def drawing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options, and pass their values to the command as ``drawing``; files are read before it runs."""

    @functools.wraps(command)
    def with_drawing(
        *,
        features_off: tuple[str, ...],
        capabilities_file: Path | None,
        focus: tuple[str, ...],
        boundary: int | None,
        focus_changed: str | None,
        focus_paths: tuple[str, ...],
        **values: Any,  # noqa: ANN401 - click passes options of any type
    ) -> Any:  # noqa: ANN401 - the same
        changed = () if focus_changed is None else _focus_of_changes(focus_changed, focus_paths)
        drawing = Drawing(
            features_off=features_off,
            focus=(*focus, *changed),
            boundary=boundary,
            capabilities_file=capabilities_file,
            known=None if capabilities_file is None else read_knowledge(capabilities_file),
        )
        return command(drawing=drawing, **values)

    for option in (
        click.option(
            "--focus-paths",
            multiple=True,
            metavar="PATTERN=FEATURE,...",
            help="Features for --focus-changed if a file of this pattern was changed; may be repeated.",
        ),
        click.option(
            "--focus-changed",
            metavar="BASE",
            help="Focus on the features of --focus-paths whose files were changed since BASE, a branch or commit of "
            "git.",
        ),
        click.option(
            "--boundary",
            type=click.IntRange(min=MIN_BOUNDARY),
            metavar="N",
            help="Most tables have N - 1, N or N + 1 rows, in row groups and batches of N; for the N of your engine's "
            "batches.",
        ),
        click.option(
            "--focus",
            multiple=True,
            metavar="FEATURE",
            help="Draw cases with this feature (mergecheck.strategies.Feature) more often; may be repeated.",
        ),
        file_option(
            "--capabilities",
            "capabilities_file",
            "Draw nothing that the engine refuses by FILE, which mergecheck engine conform has written.",
        ),
        click.option(
            "--features-off",
            multiple=True,
            metavar="FEATURE",
            help="Draw no cases with this feature (mergecheck.strategies.Feature); may be repeated.",
        ),
    ):
        with_drawing = option(with_drawing)
    return with_drawing


def _focus_of_changes(base: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    found = changed_focus(base, paths, folder=Path.cwd())
    features = tuple(sorted(found.features))
    files = counted(len(found.files), "changed file")
    if features:
        notice(f"focus on {', '.join(features)}: {files} since {base}")
    else:
        notice(f"no file that was changed since {base} is in --focus-paths, so cases are drawn as usual")
    return features
