"""``--on-spark``: a run whose parts are checked on the workers of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.cli.output.terminal import notice
from mergecheck.harness.search.on_spark import Part, require_no_spark, run_parts
from mergecheck.harness.search.ranges import parts_of
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class RunInParts:
    """A run of a range.

    Attributes:
        master: of the cluster.
        engine: the value of ``--engine``.
        numbers: the range.
        options: of each part, without ``--range``; they name no file but those that all workers have.
        quiet: whether no progress is shown.
    """

    master: str
    engine: str
    numbers: range
    options: Sequence[str]
    quiet: bool

    def results(
        self, *command: str, size: int, file: str | None = None, wanted: frozenset[int] | None = None
    ) -> Iterator[str]:
        """Run the parts, and yield the result of each as it comes.

        Args:
            command: the verb that checks a part, and options of the verb.
            size: numbers of a part. It does not depend on the cluster, so that the result does not either.
            file: in which a part leaves its result; None if it prints it.
            wanted: parts without one of these numbers are left out; None for all parts.
        """
        require_no_spark(self.engine)
        parts = [
            Part(part, (*command, *self.options, "--quiet", "--range", f"{part.start}:{part.stop}"), file)
            for part in parts_of(self.numbers, size)
            if wanted is None or not wanted.isdisjoint(part)
        ]

        def report(number: int) -> None:
            if not self.quiet:
                notice(f"{number} of {counted(len(parts), 'part')} checked")

        return run_parts(self.master, parts, on_part=report)
