"""The reach of the generator: a fixed stream of cases, no engine.

Every number here is a floor or a ceiling that the generator keeps with room to spare; a change that drops below one
makes whole classes of faults invisible, and that must not happen unseen.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice, product
from random import Random
from time import process_time
from typing import TYPE_CHECKING

import pytest
import sqlglot
from hypothesis import given, seed, settings

from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.model.types.ddl import parse_schema
from mergecheck.strategies import (
    ALWAYS_ON,
    BROUGHT,
    TABLE_FEATURES,
    WRITTEN_FORMS,
    Feature,
    cases,
    drawn_cases,
    samples,
)

if TYPE_CHECKING:
    from drawn_on_demand import DrawnOnDemand

    from mergecheck.strategies import DrawnCase

NUM_CASES = 1_600
SEED = 20

ACTIONS = (
    *("matched/update", "matched/delete", "not_matched/insert"),
    *("not_matched_by_source/update", "not_matched_by_source/delete"),
)
KINDS = ("matched", "not_matched", "not_matched_by_source")
TYPES = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING", "BINARY", "DATE"),
    *("TIMESTAMP", "TIMESTAMP_NTZ", "STRUCT", "ARRAY", "MAP"),
)
CONDITION_NODES = (
    *("Comparison", "And", "Or", "Not", "IsNull", "In", "Between", "CaseWhen", "Coalesce", "Sum", "FieldAccess"),
)
SETTINGS = (
    *("merge.materializeSource=auto", "merge.materializeSource=all", "merge.materializeSource=none"),
    *("merge.optimizeInsertOnlyMerge.enabled=false", "merge.optimizeMatchedOnlyMerge.enabled=false"),
    *("merge.repartitionBeforeWrite.enabled=false", "skipRecordingEmptyCommits=false"),
    *("schema.autoMerge.enabled=true", "merge.preserveNullSourceStructs=false"),
    "spark.sql.caseSensitive=true",
    *("spark.sql.storeAssignmentPolicy=LEGACY", "spark.sql.storeAssignmentPolicy=STRICT"),
)
EVOLUTION = (
    *("statement", "session", "new-column-by-name", "new-column-by-star", "missing-column", "left-side-by-source"),
    *("new-field", "missing-field", "beside-by-source", "no-new-column", "type-conflict"),
)
CASTS = (
    *("STRING-to-INT", "INT-to-STRING", "BIGINT-to-INT", "DOUBLE-to-INT", "DECIMAL-to-INT", "STRUCT-variant"),
    *("ARRAY-variant", "MAP-variant", "misfits"),
)
REACHED = (
    *(f"clause:{action}/{guard}" for action, guard in product(ACTIONS, ("conditional", "unconditional"))),
    *(f"fires:{action}" for action in ACTIONS),
    *(f"clauses:{kind}={number}" for kind, number in product(KINDS, range(1, 5))),
    *("action:matched/update/star", "action:matched/update/explicit"),
    "action:not_matched/insert/star",
    "action:not_matched/insert/explicit",
    "action:not_matched_by_source/update/explicit",
    *(
        "kinds:" + "+".join(kind for kind, on in zip(KINDS, mask, strict=True) if on)
        for mask in product((True, False), repeat=3)
        if any(mask)
    ),
    *(f"on:{form}" for form in ("equality", "null-safe", "key-expression", "non-equi", "or", "constant")),
    *("on:target-side-only", "on:source-side-only", "source:self", "keys:1", "keys:2"),
    *(f"null:{place}" for place in ("target-key", "source-key", "target-value", "source-value", "partition")),
    *("condition:true", "condition:false", "condition:null"),
    *(f"condition-node:{node}" for node in CONDITION_NODES),
    *(f"value:{node}" for node in ("Literal", "Reference", "Sum", "CaseWhen", "Coalesce", "Cast", "FieldAccess")),
    *(f"type:{name}" for name in TYPES),
    *(f"key-type:{name}" for name in ("INT", "BIGINT", "STRING", "DATE", "DECIMAL", "TIMESTAMP", "DOUBLE", "FLOAT")),
    *(f"partition-type:{name}" for name in ("INT", "BIGINT", "STRING", "DATE", "BOOLEAN", "DECIMAL")),
    *(f"partitions:{number}" for number in range(3)),
    *(f"files:{number}" for number in range(6)),
    *(f"{side}-rows:{size}" for side in ("target", "source") for size in ("0", "1", "2-5", "6-12", "13+")),
    *("rows:duplicate-target-rows", "cdf:on", "cdf:off", "shape:sole-unconditional-delete"),
    *("matches:some", "matches:multi", "matches:one-source-many-targets"),
    *("outcome:ambiguous", "outcome:multi-match-allowed"),
    *(f"name:{kind}" for kind in ("dot", "backtick", "space", "non-ascii", "other-case")),
    *("source:extra-columns", "source:missing-columns", "source:other-order"),
    *(f"setting:{setting}" for setting in SETTINGS),
    *(f"evolution:{kind}" for kind in EVOLUTION),
    *(f"nested-update:{kind}" for kind in ("depth-1", "depth-2", "several-fields")),
    *(f"cast:{pair}" for pair in CASTS),
    *(f"column:{kind}" for kind in ("not-null", "default", "generated")),
    *("check:loose", "check:tight", "generated:update/left-out", "generated:insert/listed"),
    *("source:query", "query:projection", "query:filter", "query:union", "query:constants"),
    *("layout:row-groups", "layout:older-files", "layout:source-batches", "value:Quotient"),
    *(f"layout:statistics-{kind}" for kind in ("none", "alternate", "counts")),
    *(
        f"layout:{side}-{kind}"
        for side in ("target", "source")
        for kind in ("large_string", "string_view", "dictionary")
    ),
    *("condition:struct-constant", "value:NamedStruct", "outcome:invalid"),
    *("kinds:interleaved", "target:no-columns", "target:append-only", "source:twin-names", "partition:empty-text"),
    *("name:reserved", "name:alias-of-column", "value:ArrayCall", "condition-node:Verbatim", "invalid:R-144"),
)  # fmt: skip - one line per group of labels


@pytest.fixture(scope="module")
def drawn(default_stream: DrawnOnDemand) -> tuple[DrawnCase, ...]:
    return tuple(islice(default_stream, NUM_CASES))


@pytest.fixture(scope="module")
def shares(drawn: tuple[DrawnCase, ...]) -> dict[str, float]:
    counted = Counter(label for each in drawn for label in each.features)
    return {label: number / NUM_CASES for label, number in counted.items()}


def test_a_drawn_case_can_be_replayed(drawn: tuple[DrawnCase, ...]) -> None:
    """A finding that another person replays is read as a stranger's case."""
    for each in drawn:
        require_harmless(each.case, "a drawn case")


@pytest.mark.parametrize("label", sorted(set(REACHED)))
def test_everything_is_reached(shares: dict[str, float], label: str) -> None:
    """Each clause, ON form, type, layout, NULL pattern, name and setting occurs within the stream."""
    assert shares.get(label, 0) > 0


@pytest.mark.parametrize(
    "feature", [each for each in Feature if each not in (*ALWAYS_ON, *BROUGHT, *TABLE_FEATURES, *WRITTEN_FORMS)]
)
def test_every_flag_is_on_and_off(drawn: tuple[DrawnCase, ...], feature: Feature) -> None:
    """A swarm flag that is never off, or never on, is no flag. Those that are drawn late have tests of their own."""
    share = sum(feature in each.enabled for each in drawn) / NUM_CASES
    # large tables cost Spark seconds
    assert (0.001 if feature is Feature.LARGE_TABLES else 0.01) < share < 0.99


@pytest.mark.parametrize(
    ("label", "least", "most"),
    [
        # MATCHED clauses need matches, and an error must stay the exception
        ("matches:some", 0.5, 0.9),
        ("outcome:ambiguous", 0.03, 0.09),
        # ... and conditions that seem to resolve it must not
        ("outcome:ambiguous-by-on-alone", 0.005, 0.05),
        ("outcome:invalid", 0.01, 0.05),
        # the rules of the analysis need many statements
        ("evolution:new-column-by-star", 0.03, 0.25),
        ("evolution:new-column-by-name", 0.03, 0.25),
        ("source:query", 0.1, 0.4),
        ("column:not-null", 0.04, 0.25),
        ("column:generated", 0.06, 0.3),
        ("column:default", 0.03, 0.2),
        ("outcome:multi-match-allowed", 0.04, 0.2),
        # conditions come out each way on a good share of the rows
        ("condition:true", 0.25, 1),
        ("condition:false", 0.2, 1),
        ("condition:null", 0.1, 1),
        # files are skipped only where no clause reads them all
        ("prunes:on", 0.15, 0.4),
        ("prunes:clauses", 0.015, 0.15),
        # the known silent faults live in these
        ("cdf:on", 0.35, 0.7),
        ("null:source-key", 0.1, 0.5),
        ("null:target-key", 0.1, 0.5),
        ("on:null-safe", 0.05, 0.3),
        ("rows:duplicate-target-rows", 0.08, 0.4),
        ("partitions:0", 0.5, 0.8),
        # they cost Spark seconds
        ("rows:beyond-a-batch", 0.001, 0.01),
        ("files:0", 0.02, 0.15),
        ("files:1", 0.3, 0.6),
        ("source-rows:0", 0.01, 0.12),
        ("kinds:not_matched", 0.04, 0.2),
        ("kinds:matched", 0.06, 0.3),
        ("kinds:not_matched_by_source", 0.03, 0.2),
    ],
)
def test_shares_stay_in_bounds(shares: dict[str, float], label: str, least: float, most: float) -> None:
    """Rare things are not too rare and costly ones not too common."""
    assert least <= shares.get(label, 0) <= most


def test_every_kind_of_clause_is_common(drawn: tuple[DrawnCase, ...]) -> None:
    """Each kind stands in at least a third of the cases, all three together in at least a tenth."""
    for kind in KINDS:
        assert sum(any(f"clauses:{kind}=" in label for label in each.features) for each in drawn) > NUM_CASES / 3
    assert sum("kinds:" + "+".join(KINDS) in each.features for each in drawn) > NUM_CASES / 10


def test_most_cases_change_a_row(drawn: tuple[DrawnCase, ...]) -> None:
    """In at least 70 % some clause fires on some row and the statement is not rejected; idle cases do not count."""
    may_change = [each for each in drawn if Feature.NEVER_TRUE not in each.enabled]
    changed = [
        any(label.startswith("fires:") for label in each.features)
        for each in may_change
        if "outcome:ambiguous" not in each.features
    ]
    assert sum(changed) / len(may_change) > 0.7


def test_cases_are_distinct(drawn: tuple[DrawnCase, ...]) -> None:
    """Hardly a case comes twice."""
    assert len({each.case.id for each in drawn}) / NUM_CASES > 0.98


def test_every_statement_parses(drawn: tuple[DrawnCase, ...]) -> None:
    """A parser reads each valid statement as a MERGE, and the DDL of both schemas reads back."""
    for each in drawn:
        # the parser does not know these words
        sql = each.case.sql.replace("MERGE WITH SCHEMA EVOLUTION", "MERGE", 1)
        assert each.breaks or isinstance(sqlglot.parse_one(sql, read="spark"), sqlglot.exp.Merge)
        assert parse_schema(each.case.target.schema.ddl()) == each.case.target.schema
        if each.case.source is not None:
            assert parse_schema(each.case.source.schema.ddl()) == each.case.source.schema


def test_hardly_a_draw_is_discarded() -> None:
    """Cases are valid by construction: random bytes give a case in at least 98 of 100 tries."""
    seen = []

    @settings(database=None)
    @given(cases())
    def see(case: object) -> None:
        seen.append(case)

    random = Random(SEED)
    # Hypothesis documents the attribute and leaves it out of its types
    run_bytes = see.hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    for _ in range(200):
        run_bytes(random.randbytes(2**15))
    assert len(seen) >= 196


def test_drawing_is_quick() -> None:
    """A case costs milliseconds to draw, against hundreds to run; the bound allows for a slow machine."""
    started = process_time()
    number = sum(1 for _ in islice(samples(SEED + 1), 100))
    assert (process_time() - started) / number < 0.05


def test_hypothesis_own_loop_reaches_the_clauses_too() -> None:
    """Under ``@given`` inputs are mutated and start small; the main shapes still come up.

    Hypothesis takes constants from all modules that are imported, so that a seed means other cases in another order of
    tests: one run is too few to judge shares by.
    """
    labels: Counter[str] = Counter()
    for number in range(3):

        @seed(number)
        @settings(max_examples=200, database=None)
        @given(drawn_cases())
        def see(each: DrawnCase) -> None:
            labels.update(each.features)

        see()
    assert all(labels[f"fires:{action}"] > 0 for action in ACTIONS)
    assert labels["matches:some"] > 3 * 40
    assert labels["outcome:ambiguous"] < 3 * 30
