"""Plans read from Spark's status store, which forgets old ones at any time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from mergecheck.harness.engines.executed_plans import recording
from mergecheck.harness.engines.spark.session import PLANS_DESCRIBED, PLANS_UNDESCRIBED
from mergecheck.harness.verdict import EngineDownError


class Store:
    """Spark's store as far as it is asked: queries by number, the oldest of which go at a chosen moment."""

    def __init__(self, num_queries: int) -> None:
        self.plans = {number: f"plan {number}" for number in range(num_queries)}
        self.forgets_at_next_count = 0
        self.fails = False

    def executionsCount(self) -> int:  # noqa: N802 - Spark's name
        if self.fails:
            raise Py4JError("the connection is gone")
        count = len(self.plans)
        for number in sorted(self.plans)[: self.forgets_at_next_count]:
            del self.plans[number]
        self.forgets_at_next_count = 0
        return count

    def executionsList(self, offset: int, length: int) -> Any:  # noqa: N802 - Spark's name
        numbers = sorted(self.plans)[offset : offset + length]
        return SimpleNamespace(
            nonEmpty=lambda: bool(numbers), last=lambda: SimpleNamespace(executionId=lambda: numbers[-1])
        )

    def execution(self, number: int) -> Any:
        found = self.plans.get(number)
        return SimpleNamespace(
            isDefined=lambda: found is not None, get=lambda: SimpleNamespace(physicalPlanDescription=lambda: found)
        )


class Conf:
    """The settings of a session."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, name: str, default: str | None) -> str | None:
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        self.values[name] = value

    def unset(self, name: str) -> None:
        del self.values[name]


def session_over(store: Store) -> Any:
    """A session that has this store, and listeners that have heard everything."""
    bus = SimpleNamespace(waitUntilEmpty=lambda _: None)
    context = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(listenerBus=lambda: bus)))
    state = SimpleNamespace(statusStore=lambda: store)
    java = SimpleNamespace(sharedState=lambda: state)
    return SimpleNamespace(sparkContext=context, _jsparkSession=java, conf=Conf())


def recorded(store: Store, *new: str) -> list[str]:
    plans: list[str] = []
    with recording(session_over(store), plans):
        first = max(store.plans, default=-1) + 1
        store.plans |= {first + i: plan for i, plan in enumerate(new)}
    return plans


def test_only_what_was_executed_meanwhile_is_recorded() -> None:
    """But for Delta's reading of its log."""
    assert recorded(Store(0), "scan") == ["scan"]
    assert recorded(Store(3), "scan", "reads t/_delta_log/0.json", "join") == ["scan", "join"]
    assert recorded(Store(3)) == []


def test_plans_are_described_only_while_they_are_recorded() -> None:
    """Their text is recorded, and costs a tenth of a small query."""
    session = session_over(Store(0))
    with recording(session, None):
        assert session.conf.values == {}
    session.conf.values |= PLANS_UNDESCRIBED
    with recording(session, []):
        assert session.conf.values == PLANS_DESCRIBED
    assert session.conf.values == PLANS_UNDESCRIBED


def test_a_store_that_forgets_while_it_is_asked() -> None:
    """Between the number of queries and the last of them, old ones may go."""
    store = Store(10)
    store.forgets_at_next_count = 4
    assert recorded(store, "scan") == ["scan"]
    store.forgets_at_next_count = 7
    assert recorded(store, "join") == ["join"]


def test_a_store_that_cannot_be_read_says_nothing_about_the_merge() -> None:
    """It is the infrastructure that failed."""
    store = Store(1)
    store.fails = True
    with pytest.raises(EngineDownError, match="the connection is gone"):
        recorded(store)
