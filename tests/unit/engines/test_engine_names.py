"""A subclass or a wrapper has the name that its user gave, and known deviations only if it declares them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.engines.duckdb.engine import DuckDbEngine
from mergecheck.harness.engines.registry import load_engine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import UserInputError
from tools.output_mutations.answers import load_answers

if TYPE_CHECKING:
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult


class Inherits(DuckDbEngine):
    """Says nothing of its name."""


class Named(DuckDbEngine):
    """Has a name of its own."""

    name = "mine"


class Wraps:
    """Passes on the name of the engine that it wraps."""

    capabilities = Capabilities()
    version = "1"

    def __init__(self) -> None:
        self.name = DuckDbEngine.name

    def run(self, case: Case) -> EngineResult:
        raise NotImplementedError

    def close(self) -> None:
        """Hold nothing."""


class Delegates(Wraps):
    """The same by a property, which cannot be set."""

    def __init__(self) -> None:
        pass

    @property
    def name(self) -> str:  # type: ignore[override]
        return DuckDbEngine.name


def test_the_name_is_what_the_user_gave() -> None:
    for kind, expected in ((Inherits, f"{__name__}:Inherits"), (Named, "mine"), (Wraps, f"{__name__}:Wraps")):
        engine = load_engine(f"{__name__}:{kind.__name__}")
        assert engine.name == expected
        assert bool(load_deviations().of(engine)) is False
        engine.close()
    engine = load_engine("duckdb")
    assert engine.name == "duckdb"
    engine.close()


def test_a_name_that_cannot_be_changed_is_refused() -> None:
    with pytest.raises(UserInputError, match="calls itself 'duckdb', which is the name of a registered engine"):
        load_engine(f"{__name__}:Delegates")


def test_known_deviations_are_declared() -> None:
    """The same answer of an engine with another name is explained if it declares the release."""
    known = load_deviations()
    (entry,) = known.named(["delta-spark-null-hides-match"]).entries
    recorded = load_answers()[entry.id]
    for declared, explained in (("", ()), (f"delta-spark {recorded.version}", (entry.id,)), ("delta-spark 3.2.0", ())):
        engine = replace(recorded, name="mine", capabilities=replace(recorded.capabilities, deviations_of=declared))
        report = check_case(entry.case, engine)
        assert known.annotated(report, engine.capabilities).deviations == explained
        assert report.engine == "mine"
        assert (entry in known.of(engine)) is bool(explained)
