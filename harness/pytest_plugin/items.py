"""The items that the plugin adds: saved cases and random ones, with a failure report instead of a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.pytest_plugin.checking import (
    NOTICES,
    SEED,
    SETTINGS,
    CaseFailedError,
    baseline_of,
    check_case,
    checker_of,
    option,
)
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest._code.code import TerminalRepr  # has no public name; repr_failure may return it

    from mergecheck.harness.findings.corpus import SavedCase

DENOMINATOR = "mergecheck_denominator"


class Collector(pytest.Collector):
    """The root of this plugin's items."""

    def collect(self) -> list[pytest.Item]:
        """Make an item of every case, and one for the random cases."""
        items: list[pytest.Item] = []
        names: dict[str, int] = {}
        for saved in _saved_cases(self.config):
            name = f"{saved.path}::{saved.case.id}"
            names[name] = names.get(name, 0) + 1
            unique = name if names[name] == 1 else f"{name}#{names[name]}"
            items.append(_CaseItem.from_parent(self, name=unique, saved=saved))
        num_cases = option(self.config, "fuzz")
        if num_cases > 0:
            name = f"fuzz::{num_cases}-cases-seed-{self.config.stash[SEED]}"
            items.append(_FuzzItem.from_parent(self, name=name, num_cases=num_cases))
        return items


class _Item(pytest.Item):
    """Shows a failure report instead of a traceback."""

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,  # noqa: ANN401 - pytest's own choice of words, not public
    ) -> str | TerminalRepr:
        """Show the failure report of a mismatch, or the fault of an option; anything else as pytest does."""
        if isinstance(excinfo.value, CaseFailedError | UserInputError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style=style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the item in pytest's output."""
        return self.config.rootpath, None, f"mergecheck {self.name}"


class _CaseItem(_Item):
    """One saved case."""

    def __init__(self, *, saved: SavedCase, **rest: Any) -> None:  # noqa: ANN401 - pytest's own
        super().__init__(**rest)
        self.saved = saved

    def runtest(self) -> None:
        """Check the case."""
        baseline = baseline_of(self.config)
        check_case(
            self.saved.case, self.saved.path, checker_of(self.config), origin=self.saved.origin, baseline=baseline
        )


class _FuzzItem(_Item):
    """Random cases under one seed."""

    def __init__(self, *, num_cases: int, **rest: Any) -> None:  # noqa: ANN401 - pytest's own
        super().__init__(**rest)
        self.num_cases = num_cases

    def runtest(self) -> None:
        """Run the cases; every finding's report makes the failure."""
        from mergecheck.harness.pytest_plugin.random_cases import fuzz_test  # noqa: PLC0415 - the same
        from mergecheck.harness.verdict import EngineDownError  # noqa: PLC0415 - see the docstring of ``pytest_plugin``

        values = self.config.stash[SETTINGS].values
        ended = fuzz_test(checker_of(self.config), values, seed=self.config.stash[SEED], num_cases=self.num_cases)
        self.user_properties.append((DENOMINATOR, ended.line))
        self.config.stash[NOTICES] += ended.notices
        if ended.was_interrupted:
            raise KeyboardInterrupt
        if ended.failure:
            raise CaseFailedError(ended.failure)
        if ended.engine_failure:
            raise EngineDownError(ended.engine_failure)


def _saved_cases(config: pytest.Config) -> Iterator[SavedCase]:
    names: list[str] = option(config, "case")
    if not names:
        return
    here = config.invocation_params.dir
    names = [str(Path(name).relative_to(here)) if Path(name).is_relative_to(here) else name for name in names]
    from mergecheck.harness.findings.corpus import load_corpus  # noqa: PLC0415 - see the docstring of ``pytest_plugin``

    try:
        corpus = load_corpus(names, trust=config.getoption("--mergecheck-trust"))
    except UserInputError as error:
        raise pytest.UsageError(str(error)) from error
    if corpus.unreadable:
        raise pytest.UsageError("\n".join(corpus.unreadable))
    yield from corpus.cases
