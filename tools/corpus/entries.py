"""The entries of the corpus: a case, the result that the reference derives, and the reach of the case."""

from __future__ import annotations

import itertools
import multiprocessing
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mergecheck.harness.lab.conformance import suite
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.properties.rules.evidence import evidence_of
from mergecheck.harness.properties.vocabulary import clauses_of, properties_of
from mergecheck.harness.specification.rules import data_file
from mergecheck.model.case_file import case_to_json, change_schema, parse_cases
from mergecheck.model.case_id import with_content_id
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.model.values import encode_rows
from mergecheck.reference import MergeReference
from mergecheck.strategies import TABLE_FEATURES, Profile, samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mergecheck.model.case import Case, Row
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.syntax.statement import Clause, WrittenClause

VERSION = 1
"""Of the form of an entry; a reader refuses a version that it does not know."""
MOST_ROWS = 8
"""Of both tables of a drawn case: larger ones are left out, so that a person can check an entry."""
FEW = 30
"""A rule, a pair of properties or a shape is rare until so many entries have it."""
COMMON_EVERY = 4
"""Of the random cases that reach nothing rare, one in so many stays."""
_MOST_CLAUSES = 2
_BLOCK = 64
"""So many cases are drawn at once; the entries depend on it."""
_PROFILE = Profile(table_features=frozenset(TABLE_FEATURES))


def entries(num_cases: int, seed: int, jobs: int = 1) -> Iterator[dict[str, Any]]:
    """Yield the minimal cases of the rules and the cases of the fixed suite, then small random ones, each case once.

    Random cases are drawn until there are enough. One that reaches something rare stays; of the others one in four.
    Rows of a random case without which it reaches the same are left out, and so are cases that the reference does not
    predict as a whole.

    Args:
        num_cases: how many.
        seed: of the random cases.
        jobs: processes that evaluate cases; the entries do not depend on it.
    """
    seen, counts, num_common = set[str](), Counter[str](), 0
    drawn = cases(seed)
    with _evaluating(jobs) as evaluate_all:
        while block := list(itertools.islice(drawn, _BLOCK)):
            kept: list[tuple[Case, bool]] = []
            for (case, is_random), goals in zip(block, evaluate_all(_goals, block), strict=True):
                if goals is None:
                    continue
                if is_random and all(counts[goal] >= FEW for goal in goals):
                    num_common += 1
                    if num_common % COMMON_EVERY:
                        continue
                counts.update(goals)
                kept.append((case, is_random))
            for entry in evaluate_all(_entry, kept):
                if len(seen) == num_cases:
                    return
                if entry["id"] not in seen:
                    seen.add(entry["id"])
                    yield entry


@contextmanager
def _evaluating(jobs: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Give a ``map`` that evaluates in this process, or in several others."""
    if jobs == 1:
        yield map
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as processes:
        yield processes.map


def _goals(drawn: tuple[Case, bool]) -> frozenset[str] | None:
    reached = reached_by(drawn[0], MergeReference())
    return None if reached is None else reached.goals


def _entry(drawn: tuple[Case, bool]) -> dict[str, Any]:
    case, is_random = drawn
    reference = MergeReference()
    reached = reached_by(case, reference)
    assert reached is not None  # noqa: S101 - it had goals
    found = without_needless_rows(reached, reference) if is_random else reached
    return found.entry(with_content_id(found.case).id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A case that the reference predicts, and its reach.

    Attributes:
        shape: the kinds, actions, conditions and stars of its clauses, in order; None if there are more than two.
    """

    case: Case
    reference: Reference
    rules: frozenset[str]
    properties: frozenset[str]
    shape: str | None

    @property
    def goals(self) -> frozenset[str]:
        """What should occur often: rules, pairs of properties, the shape of a statement of one or two clauses."""
        pairs = (f"{one} + {other}" for one, other in itertools.combinations(sorted(self.properties), 2))
        return frozenset({*self.rules, *pairs, *([self.shape] if self.shape else [])})

    def is_like(self, other: Reached) -> bool:
        """Return whether another case reaches the same and succeeds, or fails, alike."""
        same = (self.rules, self.properties, self.shape) == (other.rules, other.properties, other.shape)
        return same and _kind(self.reference) == _kind(other.reference)

    def entry(self, case_id: str) -> dict[str, Any]:
        """Write the entry in its JSON form."""
        answer = self.reference.answer
        assert isinstance(answer, Prediction | Rejection)  # noqa: S101 - checked when it was made
        found = {
            "corpus_version": VERSION,
            **case_to_json(replace(self.case, id=case_id)),
            "derived": _derived(answer),
            "rules": sorted(self.rules),
            "properties": sorted(self.properties),
        }
        if self.reference.alternative is not None:
            found["derived_too"] = _derived(self.reference.alternative)
        if self.reference.trace.touched is not None and isinstance(answer, Prediction):
            found["derived"]["touched_files"] = sorted(self.reference.trace.touched)
        return found


def _kind(reference: Reference) -> tuple[str, ...]:
    answer = reference.answer
    return ("fails", answer.error_class) if isinstance(answer, Rejection) else ("succeeds",)


def reached_by(case: Case, reference: MergeReference) -> Reached | None:
    """Evaluate a case; None if the reference does not predict it as a whole."""
    found = reference.evaluate(case)
    if not isinstance(found.answer, Prediction | Rejection):
        return None
    facts = facts_of(case, found)
    evidence = evidence_of(case, found, facts)
    return Reached(
        case=case,
        reference=found,
        rules=facts.rules,
        properties=properties_of(evidence),
        shape=_shape(clauses_of(evidence)),
    )


def _shape(clauses: Sequence[Clause | WrittenClause]) -> str | None:
    if len(clauses) > _MOST_CLAUSES:
        return None
    words = (
        f"{clause.kind.value} {clause.action.value}{' *' * clause.star}{' if' * (clause.condition is not None)}"
        for clause in clauses
    )
    return "; ".join(words)


def without_needless_rows(reached: Reached, reference: MergeReference) -> Reached:
    """Leave out each row, from the last one on, without which the case reaches the same."""
    for number, file in reversed(list(enumerate(reached.case.target.files))):
        for row in reversed(range(len(file))):
            target = reached.case.target
            files = list(target.files)
            files[number] = _without(files[number], row)
            candidate = replace(reached.case, target=replace(target, files=tuple(files)))
            reached = _smaller(candidate, reached, reference)
    source = reached.case.source
    for row in reversed(range(0 if source is None else len(source.rows))):
        if (source := reached.case.source) is not None:
            candidate = replace(reached.case, source=replace(source, rows=_without(source.rows, row)))
            reached = _smaller(candidate, reached, reference)
    return reached


def _without(rows: tuple[Row, ...], number: int) -> tuple[Row, ...]:
    return (*rows[:number], *rows[number + 1 :])


def _smaller(candidate: Case, reached: Reached, reference: MergeReference) -> Reached:
    tried = reached_by(candidate, reference)
    return tried if tried is not None and tried.is_like(reached) else reached


def minimal_cases() -> Iterator[Case]:
    """Yield the minimal cases of the rules, which the specification's pages show."""
    for file in sorted(data_file("cases").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".json"):
            yield from parse_cases(file.read_text(encoding="utf-8"), name=file.name, lines=False)


def cases(seed: int) -> Iterator[tuple[Case, bool]]:
    """Yield cases, and whether they are random."""
    yield from ((case, False) for case in (*minimal_cases(), *suite()))
    for drawn in samples(seed, profile=_PROFILE):
        source = () if drawn.case.source is None else drawn.case.source.rows
        if len(drawn.case.target.rows) + len(source) <= MOST_ROWS:
            yield drawn.case, True


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
