"""Which rules a case reaches: for rules that depend on the data, one case that does and one that just does not."""

from __future__ import annotations

import re
from typing import Any

import pytest
from reference_cases import CDF, DELTA, merge_facts

from mergecheck.harness.properties.rules import RULES
from mergecheck.harness.specification.rules import load_rules

UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
NESTED = "WHEN MATCHED THEN UPDATE SET s.y = 5"
STRUCT = "k INT, s STRUCT<y: INT, z: INT>"


def test_numbers_are_unique_and_in_order() -> None:
    """The catalogue reads like the specification: each rule once, in order."""
    numbers = [rule.number for rule in RULES]
    assert numbers == sorted(set(numbers))
    assert numbers == [number for number in load_rules() if re.fullmatch(r"R-\d+", number)]


def test_every_rule_can_be_reached_or_says_why_not() -> None:
    """A rule without a reason has something that finds it."""
    for rule in RULES:
        assert (rule.reached is None) == bool(rule.out_of_reach), rule.number


@pytest.mark.parametrize(
    ("rule", "clauses", "reaching", "missing"),
    [
        ("R-002", UPSERT, {"target": [[1, "a"], [1, "a"]]}, {"target": [[1, "a"], [1, "b"]]}),
        ("R-302", "WHEN MATCHED AND s.v = 'x' THEN DELETE", {"source": [[1, "y"]]}, {"source": [[1, "x"]]}),
        ("R-305", UPSERT, {"source": [[7, "x"], [7, "x"]]}, {"source": [[7, "x"], [8, "x"]]}),
        ("R-306", UPSERT, {"target": [[1, "a"], [1, "b"]]}, {"target": [[1, "a"], [2, "b"]]}),
        ("R-308", UPSERT, {"source": [[None, "x"]]}, {"source": [[1, "x"]]}),
        ("R-310", UPSERT, {"source": [[1, "a"]]}, {"source": [[1, "x"]]}),
        ("R-322", "WHEN MATCHED AND t.v = 'q' THEN DELETE", {"source": [[1, "x"], [1, "y"]]}, {"source": [[1, "x"]]}),
        ("R-411", UPSERT.replace("MATCHED THEN UPDATE", "MATCHED AND FALSE THEN UPDATE"), {}, {"source": [[9, "x"]]}),
        ("R-412", UPSERT, {"target": [[1, "a"], [2, "b"]]}, {"target": [[[1, "a"]], [[2, "b"]]]}),
        ("R-530", "WHEN MATCHED THEN DELETE", {"source": [[1, "x"], [1, "y"]]}, {"source": [[1, "x"]]}),
        ("R-531", "WHEN NOT MATCHED THEN INSERT *", {"source": [[1, "x"], [1, "y"]]}, {"source": [[1, "x"]]}),
        ("R-605", "WHEN NOT MATCHED BY SOURCE AND FALSE THEN DELETE", {"properties": CDF}, {}),
        ("R-612", UPSERT, {"source": [[1, "a"]], "properties": CDF}, {"source": [[1, "a"]]}),
        ("R-731", "WHEN NOT MATCHED THEN INSERT *", {}, {"source": [[9, "x"]]}),
    ],
)
def test_data_decides(rule: str, clauses: str, reaching: dict[str, Any], missing: dict[str, Any]) -> None:
    """The same statement reaches the rule or not, by its rows, files and properties."""
    base: dict[str, Any] = {"target": [[1, "a"]], "source": [[1, "x"]]}

    assert rule in merge_facts(clauses, **{**base, **reaching}).rules
    assert rule not in merge_facts(clauses, **{**base, **missing}).rules


@pytest.mark.parametrize(("old", "reached"), [(None, True), ({"y": 1, "z": 2}, False)])
def test_null_struct_on_the_way(old: object, *, reached: bool) -> None:
    """R-213 is reached by a NULL struct, R-212 by any."""
    rules = merge_facts(NESTED, target=[[1, old]], source=[[1, None]], schema=STRUCT).rules

    assert "R-212" in rules
    assert ("R-213" in rules) is reached


@pytest.mark.parametrize(
    ("rule", "evolution", "given"),
    [("R-244", True, None), ("R-243", True, {"x": 1, "y": 2}), ("R-243", False, {"x": 1, "y": 2})],
)
def test_struct_rules(rule: str, given: object, *, evolution: bool) -> None:
    """R-243, R-244: other fields in the source, and a NULL of such a struct."""
    facts = merge_facts(
        "WHEN MATCHED THEN UPDATE SET *",
        target=[[1, None]],
        source=[[1, given]],
        schema=STRUCT,
        source_schema="k INT, s STRUCT<x: INT, y: INT>",
        evolution=evolution,
    )

    assert rule in facts.rules


@pytest.mark.parametrize(
    ("rule", "clauses"),
    [
        ("R-107", "WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'x'"),
        ("R-108", "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (1)"),
        ("R-117", "WHEN MATCHED THEN UPDATE SET v = nowhere"),
        ("R-118", "WHEN MATCHED AND v = 'x' THEN DELETE"),
        ("R-130", "WHEN MATCHED AND rand() > 2 THEN DELETE"),
        ("R-131", "WHEN MATCHED AND max(s.k) > 2 THEN DELETE"),
        ("R-133", "WHEN MATCHED AND EXISTS (SELECT 1 FROM source) THEN DELETE"),
        ("R-210", "WHEN MATCHED THEN UPDATE SET v = 'x', V = 'y'"),
        ("R-225", "WHEN NOT MATCHED THEN INSERT (k, k) VALUES (1, 2)"),
        ("R-227", "WHEN MATCHED THEN UPDATE SET v = DEFAULT"),
    ],
)
def test_rules_of_analysis_are_reached_by_breaking_them(rule: str, clauses: str) -> None:
    """Part 1 and 2: a rule about refusals is reached by a refused statement."""
    rules = merge_facts(clauses, target=[[1, "a"]], source=[[1, "x"]]).rules

    assert rule in rules
    assert "R-304" not in rules


def test_settings_count_as_reached_only_where_a_case_has_some() -> None:
    """R-470: settings of the case, not the defaults."""
    conf = {f"{DELTA}merge.optimizeInsertOnlyMerge.enabled": "false"}

    assert "R-470" in merge_facts(UPSERT, target=[], source=[], conf=conf).rules
    assert "R-470" not in merge_facts(UPSERT, target=[], source=[]).rules
