"""Random sequences: one drawn case gives table and statement, the steps give everything else."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from mergecheck.harness.lab.sequences.steps import (
    AddColumn,
    Alter,
    Append,
    Change,
    ChangeType,
    Checkpoint,
    Delete,
    Merge,
    Purge,
    Restore,
    Rewrite,
    Sequence,
)
from mergecheck.harness.oracles.prepared_case import PhaseTimer
from mergecheck.harness.oracles.reference_oracle import prepare
from mergecheck.harness.properties.merge_text import merge_text, words_of
from mergecheck.harness.properties.repeatable_values import has_random_values
from mergecheck.harness.properties.source_tables import source_table
from mergecheck.harness.search.batching import similar_cases
from mergecheck.model.outcome import Prediction
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field
from mergecheck.reference import MergeReference
from mergecheck.strategies import FULL_PROFILE, Feature, Profile, samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.harness.engine import Capabilities
    from mergecheck.harness.lab.sequences.steps import Step
    from mergecheck.model.case import Case

_OF_WRITERS = (Feature.COLUMN_DEFAULTS, Feature.GENERATED_COLUMNS, Feature.CHECKS, Feature.NOT_NULL)
"""Every writer has to compute or check them, and delta-rs does not."""
_LEFT_OUT = (
    Feature.SCHEMA_EVOLUTION,
    Feature.AWKWARD_PARTITIONS,
    Feature.AWKWARD_NAMES,
    Feature.UNUSUAL_SCHEMAS,
    Feature.APPEND_ONLY,
    Feature.LARGE_TABLES,
    Feature.INVALID,
    Feature.COMMIT_SETTINGS,  # a second merge of one transaction does nothing
    Feature.RANDOM_VALUES,  # the next merge would read unpredictable values
    Feature.TIME_DEFAULTS,
    Feature.NO_STATISTICS,  # whether a file counts its rows decides how a merge treats it
)
DELTA_SPARK = "delta-spark"
"""The engine that maintains tables with features."""
_WIDER: dict[types.DataType, types.DataType] = {
    types.SMALLINT: types.INT,
    types.INT: types.BIGINT,
    types.FLOAT: types.DOUBLE,
}
_ADDED = Field("added_later", types.INT)
_MOST_APPENDED = 4
_MOST_BACK = 3
_OF_FEATURES = 0.4
_PURGES = 0.15
_ALL_WRITERS = 0.25
"""The share of sequences whose later merges every writer may do."""


def sequences(
    seed: int, *, num_steps: int, writers: Mapping[str, Capabilities] | None = None, start: int = 0
) -> Iterator[tuple[int, Sequence]]:
    """Yield the endless stream of a seed, each sequence with its number. Not every number has one.

    Args:
        seed: every seed has its own stream. A number is the same sequence wherever the stream begins.
        num_steps: steps of each sequence; the first and the last are merges.
        writers: engines that take turns, with their capabilities. The first two steps are then merges of two of them,
            and every ordered pair has its turn. Empty if one engine does all merges.
        start: the first number.
    """
    abilities = dict(writers or {})
    pairs = tuple(itertools.permutations(abilities, 2)) or ((),)
    reference = MergeReference()
    profile = _profile(abilities)
    maintainer = DELTA_SPARK if profile.table_features else ""
    drawn_cases = samples(seed, start=start, profile=profile)
    for index, drawn in enumerate(drawn_cases, start=start):
        random = Random(f"{seed}/{index}/sequence")  # noqa: S311 - a test case, no secret
        cases = similar_cases(drawn.case, random, size=num_steps + 1) if _can_be_repeated(drawn.case) else ()
        if not cases:
            continue
        prepared = prepare(drawn.case, reference=reference.evaluate, timer=PhaseTimer())
        if isinstance(prepared.reference.answer, Prediction):
            name = f"sequence-{seed}-{index}"
            sequence = _sequence(name, cases, random, num_steps=num_steps, maintainer=maintainer)
            yield index, _in_turns(sequence, pairs[index % len(pairs)], tuple(abilities), random)


def _can_be_repeated(case: Case) -> bool:
    """Return whether a statement gives the same on the same rows, names the source as a table, and makes no ids."""
    return (
        case.source is not None
        and bool(case.target.rows)
        and source_table(case) is case.source
        and not has_random_values(case.sql)
        and "SELECT" not in {word.upper() for word in words_of(case.sql)}
        and all(column.identity is None for column in case.target.schema.columns)
    )


def _profile(abilities: Mapping[str, Capabilities]) -> Profile:
    """Leave out features that some writer does not take, and settings; a change feed only if all write one.

    Tables have features if all writers take them, and one of them is Delta Lake, which then maintains the tables:
    delta-rs does not.
    """
    lacking = {name for each in abilities.values() for name in each.features_off}
    off = {*_LEFT_OUT, *(feature for feature in Feature if feature.value in lacking)}
    if abilities:
        off.add(Feature.SETTINGS)  # a writer's settings mean nothing to another, which then skips the merge
    if DELTA_SPARK in abilities and all(each.table_features for each in abilities.values()):
        # Delta Lake changes no property of a table with such names
        profile = FULL_PROFILE.without(*off, Feature.SPACED_NAMES, Feature.THIRD_TABLES)
    else:
        profile = Profile().without(*off, *_OF_WRITERS)
    if not all(each.cdf for each in abilities.values()):
        return profile.without(Feature.CHANGE_DATA_FEED)
    return profile.favouring(Feature.CHANGE_DATA_FEED, percent=75)


def _in_turns(sequence: Sequence, pair: tuple[str, ...], writers: tuple[str, ...], random: Random) -> Sequence:
    """Name who does each merge: the first two steps are merges of a pair.

    In three of four sequences the pair does the later merges in turn, too: two writers without a JVM then need none. In
    the others every writer may do them.
    """
    if not pair:
        return sequence
    merges = [step for step in sequence.steps if isinstance(step, Merge)]
    steps = [merges[0], merges[1], *sequence.steps[2:]]
    later = (random.choice(writers) for _ in steps) if random.random() < _ALL_WRITERS else itertools.cycle(pair)
    turn = itertools.chain(pair, later)
    turns = (replace(step, writer=next(turn)) if isinstance(step, Merge) else step for step in steps)
    return replace(sequence, steps=tuple(turns))


def _sequence(name: str, cases: tuple[Case, ...], random: Random, *, num_steps: int, maintainer: str) -> Sequence:
    first = cases[0]
    steps: list[Step] = [_merge(first, random)]
    for case in cases[1 : num_steps - 1]:
        step = _features_step(first, steps, random) if maintainer and random.random() < _OF_FEATURES else None
        steps.append(step or _other(first, case, random, is_widened=_has_new_columns(steps)))
    steps.append(_merge(cases[-1], random))
    if maintainer:
        steps = [Alter(Change.CHECKPOINTS) if isinstance(step, Checkpoint) else step for step in steps]
    return Sequence(id=name, target=first.target, steps=tuple(steps), maintainer=maintainer)


def _has_new_columns(steps: list[Step]) -> bool:
    return any(isinstance(step, AddColumn | ChangeType) for step in steps)


def _features_step(first: Case, steps: list[Step], random: Random) -> Step | None:
    """Draw a step that only a table with features has; None if there is none of the drawn kind."""
    if random.random() < _PURGES:
        return Purge()
    changed = {step.change for step in steps if isinstance(step, Alter)}
    on = Change.TYPE_WIDENING
    widens = on in changed or first.target.properties.get(on.property) == on.given
    types_of = [c for c in first.target.schema.columns if c.type in _WIDER and c.name not in first.target.partition_by]
    if widens and types_of and not _has_new_columns(steps):
        column = random.choice(types_of)
        return ChangeType(column.name, _WIDER[column.type])
    left = [change for change in Change if change not in changed]
    return Alter(random.choice(left)) if left else None


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
    text = merge_text(case.sql)
    assert case.source is not None  # noqa: S101 - a batch has one
    assert text is not None  # noqa: S101 - it is drawn
    kept = tuple(clause for clause in text.clauses if random.random() < 0.75) or text.clauses[:1]  # noqa: PLR2004
    return Merge(source=case.source, sql=replace(text, clauses=kept).sql(), conf=case.conf)
