"""The entries of the corpus: a case, the result that the reference derives, and what the case reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.lab.conformance import suite
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.properties.rules.evidence import evidence_of
from mergecheck.harness.properties.vocabulary import PROPERTIES
from mergecheck.harness.specification.rules import data_file
from mergecheck.model.case_file import case_to_json, change_schema, parse_cases
from mergecheck.model.case_id import with_content_id
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.model.values import encode_rows
from mergecheck.reference import MergeReference
from mergecheck.strategies import TABLE_FEATURES, Profile, samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

VERSION = 1
"""Of the form of an entry; a reader refuses a version that it does not know."""
MOST_ROWS = 8
"""Of both tables of a drawn case: larger ones are left out, so that a person can check an entry."""
_PROFILE = Profile(table_features=frozenset(TABLE_FEATURES))


def entries(num_cases: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the minimal cases of the rules and the cases of the fixed suite, then small random ones, each case once.

    Cases that the reference does not predict as a whole are left out.
    """
    reference, seen = MergeReference(), set[str]()
    for case in _cases(seed):
        if len(seen) == num_cases:
            return
        named = with_content_id(case)
        if named.id not in seen and (found := entry(named, reference.evaluate(named))) is not None:
            seen.add(named.id)
            yield found


def minimal_cases() -> Iterator[Case]:
    """Yield the minimal cases of the rules, which the specification's pages show."""
    for file in sorted(data_file("cases").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".json"):
            yield from parse_cases(file.read_text(encoding="utf-8"), name=file.name, lines=False)


def _cases(seed: int) -> Iterator[Case]:
    yield from minimal_cases()
    yield from suite()
    for drawn in samples(seed, profile=_PROFILE):
        source = () if drawn.case.source is None else drawn.case.source.rows
        if len(drawn.case.target.rows) + len(source) <= MOST_ROWS:
            yield drawn.case


def entry(case: Case, reference: Reference) -> dict[str, Any] | None:
    """Write the entry of a case; None if the reference does not predict it."""
    answer = reference.answer
    if not isinstance(answer, Prediction | Rejection):
        return None
    facts = facts_of(case, reference)
    evidence = evidence_of(case, reference, facts)
    found = {
        "corpus_version": VERSION,
        **case_to_json(case),
        "derived": _derived(answer),
        "rules": sorted(facts.rules),
        "properties": sorted(name for name, one in PROPERTIES.items() if one.holds(evidence)),
    }
    if reference.alternative is not None:
        found["derived_too"] = _derived(reference.alternative)
    if reference.trace.touched is not None and isinstance(answer, Prediction):
        found["derived"]["touched_files"] = sorted(reference.trace.touched)
    return found


def _derived(answer: Prediction | Rejection) -> dict[str, Any]:
    if isinstance(answer, Rejection):
        return {"outcome": "fails", "error_classes": sorted({answer.error_class, *answer.other_classes})}
    return {
        "outcome": "succeeds",
        "schema": answer.schema.ddl(),
        "rows": encode_rows(answer.rows, answer.schema),
        "metrics": {name: [bound.low, bound.high] for name, bound in sorted(answer.metrics.items())},
        "changes": None if answer.cdf is None else encode_rows(answer.cdf, change_schema(answer.schema)),
        "committed": answer.committed,
        "path": answer.path.value,
    }
