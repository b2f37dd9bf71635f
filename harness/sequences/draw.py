"""Random sequences: one drawn case gives table and statement, the steps give everything else."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from mergecheck.harness.core.merge_text import cut_merge
from mergecheck.harness.oracles.prepared_case import PhaseTimer
from mergecheck.harness.oracles.reference_oracle import prepare
from mergecheck.harness.search.batching import batch_of
from mergecheck.harness.sequences.steps import AddColumn, Append, Checkpoint, Delete, Merge, Restore, Rewrite, Sequence
from mergecheck.reference import MergeReference
from mergecheck.reference.outcome import Prediction
from mergecheck.reference.types import data_types as types
from mergecheck.reference.types.data_types import Field
from mergecheck.strategies import Feature, Profile, samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.harness.engine import Capabilities
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
_MOST_BACK = 3
_ALL_WRITERS = 0.25
"""The share of sequences whose later merges every writer may do."""


def sequences(
    seed: int, *, num_steps: int, writers: Mapping[str, Capabilities] | None = None, start: int = 0
) -> Iterator[tuple[int, Sequence]]:
    """Yield the endless stream of a seed, each sequence with its number. Not every number has one.

    Args:
        seed: every seed has its own stream. A number is the same sequence wherever the stream begins.
        num_steps: steps of each sequence; the first and the last are merges.
        writers: engines that take turns, with what they can do. The first two steps are then merges of two of them,
            and every ordered pair has its turn. Empty if one engine does all merges.
        start: the first number.
    """
    abilities = dict(writers or {})
    pairs = tuple(itertools.permutations(abilities, 2)) or ((),)
    reference = MergeReference()
    drawn_cases = samples(seed, start=start, profile=_profile(tuple(abilities.values())))
    for index, drawn in enumerate(drawn_cases, start=start):
        random = Random(f"{seed}/{index}/sequence")  # noqa: S311 - a test case, no secret
        batch = batch_of(drawn.case, random, size=num_steps + 1)
        if batch is None:
            continue
        prepared = prepare(drawn.case, reference=reference.evaluate, timer=PhaseTimer())
        if isinstance(prepared.reference.answer, Prediction):
            sequence = _sequence(f"sequence-{seed}-{index}", batch.singles, random, num_steps=num_steps)
            yield index, _in_turns(sequence, pairs[index % len(pairs)], tuple(abilities), random)


def _profile(abilities: tuple[Capabilities, ...]) -> Profile:
    """Leave out what one of the writers does not take, and settings; a change feed only if all write one."""
    lacking = {name for each in abilities for name in each.features_off}
    off = {*_LEFT_OUT, *(feature for feature in Feature if feature.value in lacking)}
    if abilities:
        off.add(Feature.SETTINGS)  # those of one writer mean nothing to another, which then skips the merge
    if not all(each.cdf for each in abilities):
        return Profile().without(*off, Feature.CHANGE_DATA_FEED)
    return Profile().without(*off).favouring(Feature.CHANGE_DATA_FEED, percent=75)


def _in_turns(sequence: Sequence, pair: tuple[str, ...], writers: tuple[str, ...], random: Random) -> Sequence:
    """Name who does each merge: the first two steps are merges of a pair.

    In three of four sequences the pair does the later merges, too: two writers without a JVM then need none. In the
    others every writer may do them.
    """
    if not pair:
        return sequence
    merges = [step for step in sequence.steps if isinstance(step, Merge)]
    steps = [merges[0], merges[1], *sequence.steps[2:]]
    later = writers if random.random() < _ALL_WRITERS else pair
    named = [*pair, *(random.choice(later) for _ in steps[2:])]
    turns = (
        replace(step, writer=writer) if isinstance(step, Merge) else step
        for step, writer in zip(steps, named, strict=True)
    )
    return replace(sequence, steps=tuple(turns))


def _sequence(name: str, cases: tuple[Case, ...], random: Random, *, num_steps: int) -> Sequence:
    first = cases[0]
    steps: list[Step] = [_merge(first, random)]
    for case in cases[1 : num_steps - 1]:
        steps.append(_other(first, case, random, is_widened=any(isinstance(step, AddColumn) for step in steps)))
    steps.append(_merge(cases[-1], random))
    return Sequence(id=name, target=first.target, steps=tuple(steps))


def _other(first: Case, case: Case, random: Random, *, is_widened: bool) -> Step:
    kind = random.choice(("merge", "merge", "append", "delete", "rewrite", "add column", "checkpoint", "restore"))
    if kind == "append" and not is_widened and case.target.rows:
        return Append(tuple(random.choice(case.target.rows) for _ in range(random.randint(1, _MOST_APPENDED))))
    if kind == "delete" and (step := _delete(first, random)) is not None:
        return step
    if kind == "rewrite":
        return Rewrite()
    if kind == "checkpoint":
        return Checkpoint()
    if kind == "restore" and not is_widened:
        return Restore(random.randint(1, _MOST_BACK))
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
