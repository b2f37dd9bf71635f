"""The progress of a long command on stderr: one updating line on a terminal, a line every 30 s elsewhere."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from rich.live import Live
from rich.text import Text

from mergecheck.harness.cli.output.terminal import notice, stderr
from mergecheck.harness.report.render import with_escapes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

SECONDS_BETWEEN_LINES = 30.0
REFRESHES_PER_SECOND = 4


class StatusLine(ABC):
    """Keeps the last line of a terminal up to date; a context manager.

    Args:
        quiet: show nothing at all.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = stderr()
        self._quiet = quiet
        self._live: Live | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        """Start to show the line."""
        if self._console.is_terminal and not self._quiet:
            self._live = Live(
                console=self._console,
                refresh_per_second=REFRESHES_PER_SECOND,
                transient=True,
                get_renderable=lambda: Text(with_escapes(self.line()), no_wrap=True, overflow="ellipsis"),
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the line."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    @abstractmethod
    def line(self) -> str:
        """Return the text of the line."""

    @property
    def is_live(self) -> bool:
        """Whether the line updates itself."""
        return self._live is not None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the line away while something else is written to the terminal."""
        live = self._live
        if live is not None:
            live.stop()
        try:
            yield
        finally:
            if live is not None:
                live.start()

    def print(self, message: str) -> None:
        """Print a message above the line."""
        if self._quiet:
            return
        if self._live is not None:
            self._live.console.print(Text(with_escapes(message)))
        else:
            notice(message)

    def print_periodically(self) -> None:
        """Without a terminal, print the line if 30 s have passed since the last one."""
        if self._live is None and not self._quiet and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self.restart_wait()
            notice(self.line())

    def restart_wait(self) -> None:
        """Restart the wait for the next line."""
        self._last_line = time.monotonic()
