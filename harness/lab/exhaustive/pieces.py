"""The merges of a scope, statement by statement: all pairs of tables in one MERGE, ambiguous pairs apart."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mergecheck.harness.lab.exhaustive.oracles import ambiguity_dispute, dispute, modelled_path
from mergecheck.harness.lab.exhaustive.row_model import Result
from mergecheck.harness.oracles.prepared_case import PhaseTimer
from mergecheck.harness.search.batching import joined
from mergecheck.harness.search.stream import Drawn
from mergecheck.model.outcome import Prediction
from mergecheck.reference.dialects import DELTA, Dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from mergecheck.harness.lab.exhaustive.row_model import Merge
    from mergecheck.harness.lab.exhaustive.scope import Pair, Scope, Statement
    from mergecheck.harness.properties.case_space import CaseSpace
    from mergecheck.model.case import Case, Row
    from mergecheck.reference.answer import Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """A merge on which two oracles differ, which is a defect of mergecheck.

    Attributes:
        number: of the statement.
        case: the smallest part of its pairs that shows it.
        lines: the differences.
    """

    number: int
    case: Case
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Merges of one statement that run on the engine as one.

    Attributes:
        id: of its case.
        num_pairs: pairs of tables.
        num_left: ambiguous pairs that only the oracles judge.
        num_lists: pairs of lists of rows for which all of them stand.
    """

    id: str
    statement: Statement
    num_pieces: int
    num_pairs: int
    num_lists: int
    num_left: int = 0
    disputes: tuple[Dispute, ...] = ()


@dataclass(frozen=True, slots=True)
class _Prepared:
    piece: Piece
    case: Case
    singles: tuple[Case, ...]
    reference: Reference


@dataclass(slots=True)
class _Groups:
    together: dict[tuple[Hashable, ...], list[Pair]] = field(default_factory=dict)
    ambiguous: list[tuple[Pair, str]] = field(default_factory=list)


class ScopeStream:
    """The pieces of a scope's statements, as a ``CaseStream``.

    Args:
        scope: the scope.
        numbers: the statements.
        reference: evaluates a case.
        dialect: the engine's rule for several matches; the pairs that it may refuse are apart.
        chosen: chooses among the pairs of tables of a statement; all of them by default.
    """

    seed = 0
    steer = False

    def __init__(
        self,
        scope: Scope,
        numbers: Sequence[int],
        *,
        reference: Callable[[Case], Reference],
        dialect: Dialect = DELTA,
        chosen: Callable[[Statement, tuple[Pair, ...]], Sequence[Pair]] = lambda _, pairs: pairs,
    ) -> None:
        self._scope = scope
        self._reference = reference
        self._dialect = dialect
        self._chosen = chosen
        self._coming = self._all(numbers)
        self._one_at_a_time = threading.Lock()
        self.pieces: dict[str, Piece] = {}

    def draw(self, space: CaseSpace) -> Drawn | None:
        """Return the next piece, which both oracles have judged; None after the last one."""
        del space  # the order is the scope's
        timer = PhaseTimer()
        with self._one_at_a_time, timer.measure("reference"):
            found = next(self._coming, None)
        if found is None:
            return None
        self.pieces[found.piece.id] = found.piece
        return Drawn(
            index=found.piece.statement.number,
            case=found.case,
            singles=found.singles,
            reference=found.reference,
            phase_seconds=timer.seconds,
        )

    def judged(self) -> Iterator[tuple[Piece, str]]:
        """Yield every piece as the oracles alone judge it, with the path of R-402 that they predict."""
        for found in self._coming:
            answer = found.reference.answer
            yield found.piece, answer.path.value if isinstance(answer, Prediction) else ""

    def batched(self, drawn: Drawn) -> Drawn:
        """Return a piece as it is: it is a batch already."""
        return drawn

    def shrink(self, index: int, fails: Callable[[Case], bool]) -> None:
        """Change nothing: no case was drawn."""

    def close(self) -> None:
        """Change nothing: a piece takes one evaluation, which ends."""

    def _all(self, numbers: Sequence[int]) -> Iterator[_Prepared]:
        for number in numbers:
            yield from self._of_statement(self._scope.statements[number])

    def _of_statement(self, statement: Statement) -> Iterator[_Prepared]:
        groups = self._groups(statement)
        shown = _representative(statement.number, groups.ambiguous)
        left = [pair for pair, _ in groups.ambiguous if pair is not shown]
        disputes = self._ambiguity_disputes(statement, [pair for pair, _ in groups.ambiguous])
        parts = [*groups.together.values(), *([] if shown is None else [[shown]])]
        for place, pairs in enumerate(parts):
            is_last = place == len(parts) - 1
            yield self._prepared(
                statement,
                pairs,
                place,
                num_pieces=len(parts),
                is_ambiguous=shown is not None and is_last,
                left=left if is_last else [],
                disputes=disputes if is_last else (),
            )

    def _groups(self, statement: Statement) -> _Groups:
        """Sort the pairs: ambiguous ones have a shape; others are alike in several matches, path and empty tables."""
        groups, merge = _Groups(), statement.merge()
        strict = self._dialect is not DELTA and not statement.is_insert_only
        for number, pair in enumerate(self._chosen(statement, self._scope.pairs(statement))):
            alone, placed = Result(), statement.placed(pair)
            alone.add(merge, number, placed, pair.source)
            has_several = bool(alone.ambiguous) or _has_several(merge, placed, pair.source)
            if alone.ambiguous or (strict and has_several):
                groups.ambiguous.append((pair, _shape(merge, placed, pair.source)))
            else:
                apart = (modelled_path(statement, alone), bool(pair.target), bool(pair.source))
                key = (has_several, *(apart if self._scope.splits else ()))
                groups.together.setdefault(key, []).append(pair)
        return groups

    def _prepared(
        self,
        statement: Statement,
        pairs: list[Pair],
        place: int,
        *,
        num_pieces: int,
        is_ambiguous: bool,
        left: list[Pair],
        disputes: tuple[Dispute, ...],
    ) -> _Prepared:
        singles = tuple(map(statement.case, pairs))
        case = _together(singles, f"{self._scope.name}-{statement.number}-{place}")
        reference = self._reference(case)
        if not is_ambiguous:
            disputes = (*disputes, *self._disputes(statement, pairs, case, reference))
        piece = Piece(
            id=case.id,
            statement=statement,
            num_pieces=num_pieces,
            num_pairs=len(pairs),
            num_lists=sum(pair.weight for pair in (*pairs, *left)),
            num_left=len(left),
            disputes=disputes,
        )
        return _Prepared(piece, case, singles if len(singles) > 1 else (), reference)

    def _disputes(
        self, statement: Statement, pairs: Sequence[Pair], case: Case, reference: Reference
    ) -> tuple[Dispute, ...]:
        merge, result = statement.merge(), Result()
        for number, pair in enumerate(pairs):
            result.add(merge, number, statement.placed(pair), pair.source)
        lines = dispute(statement, case, result, reference)
        if not lines:
            return ()
        half = len(pairs) // 2
        for part in (pairs[:half], pairs[half:]) if half else ():
            smaller = _together(tuple(map(statement.case, part)), case.id)
            if found := self._disputes(statement, part, smaller, self._reference(smaller)):
                return found
        return (Dispute(number=statement.number, case=case, lines=lines),)

    def _ambiguity_disputes(self, statement: Statement, pairs: Sequence[Pair]) -> tuple[Dispute, ...]:
        """Let the reference judge all ambiguous pairs in one evaluation, which sees the matches of each."""
        if not pairs or self._dialect is not DELTA:
            return ()
        case = _together(tuple(map(statement.case, pairs)), f"{self._scope.name}-{statement.number}-ambiguous")
        lines = ambiguity_dispute(range(len(pairs)), case, self._reference(case))
        return (Dispute(number=statement.number, case=case, lines=lines),) if lines else ()


def _together(singles: tuple[Case, ...], name: str) -> Case:
    case = joined(singles)
    if case is None:  # the scope writes statements that can be read
        raise AssertionError(singles[0].sql)
    return replace(case, id=name)


def _representative(number: int, ambiguous: Sequence[tuple[Pair, str]]) -> Pair | None:
    """Choose one ambiguous pair for the engine; the shapes take turns from statement to statement."""
    first: dict[str, Pair] = {}
    for pair, shape in ambiguous:
        first.setdefault(shape, pair)
    return list(first.values())[number % len(first)] if first else None


def _has_several(merge: Merge, target: Sequence[tuple[object, Row]], source: Sequence[Row]) -> bool:
    return any(sum(merge.on(t, s) is True for s in source) > 1 for _, t in target)


def _shape(merge: Merge, target: Sequence[tuple[object, Row]], source: Sequence[Row]) -> str:
    """Describe an ambiguity: for each target row the clauses that its matches fire, and whether they are equal."""
    parts = []
    for _, t in target:
        matches = [s for s in source if merge.on(t, s) is True]
        fired = sorted(
            next((str(n) for n, clause in enumerate(merge.matched) if clause[0](t, s) is True), "-") for s in matches
        )
        parts.append(f"{' '.join(fired)}{' equal' if len(set(matches)) < len(matches) else ''}")
    return ", ".join(sorted(parts))
