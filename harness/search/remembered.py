"""The last answers to a question about cases: what was looked up before a case is checked serves the check, too."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.reference.case.model import Case

_REMEMBERED = 8
Answer = TypeVar("Answer")


class Remembered(Generic[Answer]):
    """A question that is not put twice about the same case.

    Args:
        ask: answers it, in any thread; what it raises is not remembered.
    """

    def __init__(self, ask: Callable[[Case], Answer]) -> None:
        self._ask = ask
        self._answers: deque[tuple[Case, Answer]] = deque(maxlen=_REMEMBERED)

    def __call__(self, case: Case) -> Answer:
        """Answer about a case; one that differs in its id only is the same."""
        for known, answer in tuple(self._answers):  # several threads may ask
            if known.is_same_merge(case) and known.expect is case.expect:
                return answer
        answer = self._ask(case)
        self._answers.append((case, answer))
        return answer
