"""Apply the known deviations to a run: check that they still hold, warn of those that are due or explained nothing."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import TYPE_CHECKING

from mergecheck.harness.oracles.reference_oracle import check_case, reference_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engine import Engine


def confirm(deviations: Deviations, engine: Engine, warn: Callable[[str], None]) -> None:
    """Run the case of every entry about an engine, before a run relies on it.

    Args:
        deviations: the known deviations.
        engine: the engine to run; it must be up.
        warn: receives a warning for every entry due for review.

    Raises:
        StaleDeviationError: if an entry no longer describes the engine.
    """
    deviations.check_examples(engine, partial(check_case, reference=reference_of(engine)))
    for entry in deviations.due(engine, dt.datetime.now(dt.UTC).date()):
        warn(f"deviation {entry.id} was to be looked at again by {entry.review}: {entry.link}")


def warn_of_unused(deviations: Deviations, engine: Engine, used: Collection[str], warn: Callable[[str], None]) -> None:
    """Name the entries about an engine that explained nothing in a run: they may be too narrow, or mended since."""
    unused = [entry.id for entry in deviations.of(engine) if entry.id not in used]
    if unused:
        warn(f"known deviations that no case of this run showed: {', '.join(unused)}")
