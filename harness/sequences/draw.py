"""Random sequences: one drawn case gives table and statement, the steps give everything else."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from mergecheck.harness.core.merge_text import cut_merge
from mergecheck.harness.oracles.prepared_case import PhaseTimer
from mergecheck.harness.oracles.reference_oracle import prepare
from mergecheck.harness.search.batching import batch_of
from mergecheck.harness.sequences.steps import AddColumn, Append, Delete, Merge, Rewrite, Sequence
from mergecheck.reference import MergeReference
from mergecheck.reference.outcome import Prediction
from mergecheck.reference.types import data_types as types
from mergecheck.reference.types.data_types import Field
from mergecheck.strategies import Feature, Profile, samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.sequences.steps import Step
    from mergecheck.reference.case.model import Case

# Another writer would have to compute or check them, too.
_LEFT_OUT = (
    Feature.COLUMN_DEFAULTS,
    Feature.GENERATED_COLUMNS,
    Feature.CHECKS,
    Feature.NOT_NULL,
    Feature.SCHEMA_EVOLUTION,
    Feature.AWKWARD_PARTITIONS,
    Feature.AWKWARD_NAMES,
    Feature.UNUSUAL_SCHEMAS,
    Feature.APPEND_ONLY,
    Feature.LARGE_TABLES,
    Feature.INVALID,
    Feature.COMMIT_SETTINGS,  # a second merge of one transaction does nothing
)
_ADDED = Field("added_later", types.INT)
_MOST_APPENDED = 4


def sequences(seed: int, *, num_steps: int) -> Iterator[Sequence]:
    """Yield the endless stream of a seed.

    Args:
        seed: every seed has its own stream.
        num_steps: steps of each sequence; the first and the last are merges.
    """
    profile = Profile().without(*_LEFT_OUT).favouring(Feature.CHANGE_DATA_FEED, percent=75)
    reference = MergeReference()
    for index, drawn in enumerate(samples(seed, profile=profile)):
        random = Random(f"{seed}/{index}/sequence")  # noqa: S311 - a test case, no secret
        batch = batch_of(drawn.case, random, size=num_steps + 1)
        if batch is None:
            continue
        prepared = prepare(drawn.case, reference=reference.evaluate, timer=PhaseTimer())
        if isinstance(prepared.reference.answer, Prediction):
            yield _sequence(f"sequence-{seed}-{index}", batch.singles, random, num_steps=num_steps)


def _sequence(name: str, cases: tuple[Case, ...], random: Random, *, num_steps: int) -> Sequence:
    first = cases[0]
    steps: list[Step] = [_merge(first, random)]
    for case in cases[1 : num_steps - 1]:
        steps.append(_other(first, case, random, is_widened=any(isinstance(step, AddColumn) for step in steps)))
    steps.append(_merge(cases[-1], random))
    return Sequence(id=name, target=first.target, steps=tuple(steps))


def _other(first: Case, case: Case, random: Random, *, is_widened: bool) -> Step:
    kind = random.choice(("merge", "merge", "append", "delete", "rewrite", "add column"))
    if kind == "append" and not is_widened and case.target.rows:
        return Append(tuple(random.choice(case.target.rows) for _ in range(random.randint(1, _MOST_APPENDED))))
    if kind == "delete" and (step := _delete(first, random)) is not None:
        return step
    if kind == "rewrite":
        return Rewrite()
    if kind == "add column" and not is_widened and _ADDED.name not in first.target.schema.names:
        return AddColumn(_ADDED)
    return _merge(case, random)


def _delete(case: Case, random: Random) -> Delete | None:
    integers = [c for c in case.target.schema.columns if c.type in (types.INT, types.BIGINT) and c.name.isidentifier()]
    if not integers:
        return None
    column = random.choice(integers)
    values = [row[case.target.schema.names.index(column.name)] for row in case.target.rows]
    return Delete(column.name, random.choice(values) if values else None)


def _merge(case: Case, random: Random) -> Merge:
    """Merge with some of the statement's clauses, at least one."""
    text = cut_merge(case.sql)
    kept = tuple(clause for clause in text.clauses if random.random() < 0.75) or text.clauses[:1]  # noqa: PLR2004
    assert case.source is not None  # noqa: S101 - a batch has one
    return Merge(source=case.source, sql=replace(text, clauses=kept).sql(), conf=case.conf)
