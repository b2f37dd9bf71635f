"""The engine of a command, which is closed when the command's output is out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.output.terminal import Results
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT, TimeLimit
from mergecheck.harness.search.session import close_engine, start_engine

if TYPE_CHECKING:
    from mergecheck.harness.engine import Engine


def engine_of_command(name: str, limit: TimeLimit = DEFAULT_LIMIT) -> Engine:
    """Start an engine that stays open to the end of the command: one that does not close costs no output.

    Args:
        name: as ``--engine`` takes it.
        limit: how long it may take for a case; its start gets at least ``start_limit``.

    Raises:
        UserInputError: if there is no engine of this name.
        EngineDownError: if it does not start.
    """
    engine = start_engine(name, limit)
    context = click.get_current_context()
    results = context.find_object(Results)

    def close() -> None:
        close_engine(engine)

    if results is None:  # the command of another program
        context.call_on_close(close)
    else:
        results.closing.append(close)
    return engine
