"""Where a long command stands, on stderr: one updating line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from rich.live import Live
from rich.text import Text

from mergecheck.harness.cli.output.terminal import notice, stderr

if TYPE_CHECKING:
    from types import TracebackType

SECONDS_BETWEEN_LINES = 30.0
REFRESHES_PER_SECOND = 4


class StatusLine(ABC):
    """The last line of the terminal, where there is one; use as a context manager."""

    def __init__(self) -> None:
        self._console = stderr()
        self._live: Live | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        """Take the terminal's last line."""
        if self._console.is_terminal:
            self._live = Live(
                console=self._console,
                refresh_per_second=REFRESHES_PER_SECOND,
                transient=True,
                get_renderable=lambda: Text(self.line(), no_wrap=True, overflow="ellipsis"),
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    @abstractmethod
    def line(self) -> str:
        """Say where the command stands."""

    @property
    def is_live(self) -> bool:
        """Whether the line updates itself."""
        return self._live is not None

    def print(self, message: str) -> None:
        """Print what a person should not miss above the line."""
        if self._live is not None:
            self._live.console.print(Text(message))
        else:
            notice(message)

    def print_now_and_then(self) -> None:
        """Where there is no terminal, print the line itself if the last one is some time ago."""
        if self._live is None and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self.wait_anew()
            notice(self.line())

    def wait_anew(self) -> None:
        """Count the time to the next line from now."""
        self._last_line = time.monotonic()
