"""Cases with a table beside target and source: the merge keeps its meaning, and each form is drawn."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.engines.iceberg.settings import FEATURES_OFF as ICEBERG_OFF
from mergecheck.harness.engines.sail.settings import FEATURES_OFF as SAIL_OFF
from mergecheck.model.case_file import case_from_json, case_to_json
from mergecheck.model.outcome import Prediction, Rejection, Unsupported
from mergecheck.reference import MergeReference
from mergecheck.strategies import FULL_PROFILE, DrawnCase, Feature, Profile, samples, shrink

REFERENCE = MergeReference()
PLAIN = Profile(max_rows=6, max_files=2).without(Feature.TIME_ZONE)
WITH_TABLES = Profile(max_rows=6, max_files=2, written_forms=frozenset({Feature.THIRD_TABLES})).without(
    Feature.TIME_ZONE
)


def drawn(seed: int, number: int, profile: Profile) -> tuple[DrawnCase, ...]:
    return tuple(islice(samples(seed, profile=profile), number))


def test_a_case_with_a_third_table_means_what_it_means_without() -> None:
    """The rows that its source gives are those that were drawn."""
    favoured = WITH_TABLES.favouring(Feature.THIRD_TABLES, percent=90)
    forms: Counter[str] = Counter()
    for one, other in zip(drawn(91, 90, favoured), drawn(91, 90, PLAIN), strict=True):
        assert one.case.target == other.case.target
        if not one.case.tables:
            assert one.case.id == other.case.id
            continue
        require_harmless(one.case, "drawn")
        read = case_from_json(case_to_json(one.case), where="drawn")
        assert {n: table.schema for n, table in read.tables.items()} == {
            n: table.schema for n, table in one.case.tables.items()
        }
        first, second = (REFERENCE.evaluate(each.case).answer for each in (one, other))
        if isinstance(second, Unsupported):
            continue
        assert not isinstance(first, Unsupported), (one.case.sql, first)
        if isinstance(second, Rejection):
            assert isinstance(first, Rejection), one.case.sql
            assert first.error_class == second.error_class
            continue
        assert isinstance(first, Prediction), (one.case.sql, first)
        assert isinstance(second, Prediction)
        assert Counter(map(repr, first.rows)) == Counter(map(repr, second.rows)), one.case.sql
        (name,) = one.case.tables
        sql = one.case.sql
        for form, text in {
            "itself": f"USING {name} ",
            "join": f" JOIN {name} y ON",
            "in": f" IN (SELECT k FROM {name})",
            "exists": f"EXISTS (SELECT 1 FROM {name} ",
            "union": " UNION ALL SELECT ",
        }.items():
            forms[form] += text in sql
    assert min(forms.values()) > 0, forms


def test_a_case_has_an_id_of_its_own_if_only_its_third_table_differs() -> None:
    """And the id of a case without such a table is the one that it has had."""
    cases = [each.case for each in drawn(92, 40, WITH_TABLES.favouring(Feature.THIRD_TABLES, percent=90))]
    assert len({case.id for case in cases}) == len({repr(case) for case in cases})


def test_the_profile_of_a_fuzz_run_draws_third_tables() -> None:
    """About one case in thirty."""
    assert any(each.case.tables for each in drawn(93, 150, FULL_PROFILE))


def test_a_case_with_a_third_table_shrinks_to_one_without() -> None:
    """If the fault does not need it."""
    favoured = WITH_TABLES.favouring(Feature.THIRD_TABLES, percent=90)
    index = next(i for i, each in enumerate(drawn(94, 40, favoured)) if each.case.tables)
    found = shrink(94, index, lambda each: "WHEN" in each.case.sql, profile=favoured)
    assert not found.case.tables


def test_engines_without_further_tables_are_given_none() -> None:
    """They would refuse every such case."""
    assert {Feature.THIRD_TABLES.value} <= SAIL_OFF & ICEBERG_OFF
