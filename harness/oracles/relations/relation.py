"""A metamorphic relation and its inputs: a case, the engine's answer, and further runs of the engine.

A relation needs no reference. It changes the case in a way that has a known effect on the answer, runs the
engine again, and compares. Outside its domain it does not apply; inside, a difference is a fault of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.metrics import metric_mismatches
from mergecheck.harness.compare.rows import difference, row_mismatches
from mergecheck.harness.compare.schema import schema_mismatches
from mergecheck.harness.oracles.transformations.domains import AMBIGUOUS
from mergecheck.harness.properties.merge_text import StatementText, merge_text, written_merge
from mergecheck.harness.properties.source_tables import source_table, tables_of_queries
from mergecheck.harness.verdict import Check, Mismatch
from mergecheck.model.axis import unchanged
from mergecheck.model.case_file import change_schema
from mergecheck.model.facts import Facts
from mergecheck.model.formatting import fit
from mergecheck.model.outcome import Bound, Outcome, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mergecheck.model.axis import Transformation
    from mergecheck.model.case import Case, Row, Source
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.types.data_types import Schema

# Functions of tables, statement and settings only, not of the layout of files.
ROW_METRICS = (
    "numSourceRows",
    "numTargetRowsInserted",
    "numTargetRowsUpdated",
    "numTargetRowsMatchedUpdated",
    "numTargetRowsNotMatchedBySourceUpdated",
    "numTargetRowsDeleted",
    "numTargetRowsMatchedDeleted",
    "numTargetRowsNotMatchedBySourceDeleted",
)


class OutOfDomainError(Exception):
    """The relation does not apply to this case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One case, the engine's answer to it, and the means to run further cases.

    Attributes:
        outcome: the engine's answer to the case.
        name: of the relation that is tried, for its mismatches.
        run: asks the engine.
    """

    case: Case
    outcome: Outcome
    name: str
    run: Callable[[Case], EngineResult]

    @property
    def text(self) -> StatementText:
        """The statement in pieces.

        Raises:
            OutOfDomainError: it cannot be read.
        """
        text = merge_text(self.case.sql)
        if text is None:
            raise OutOfDomainError
        return text

    def require(self, *, condition: bool) -> None:
        """Leave cases out for which the relation does not hold.

        Raises:
            OutOfDomainError: the condition does not hold.
        """
        if not condition:
            raise OutOfDomainError

    def source_table(self) -> Source:
        """Return the source where it is the table ``source``, and nothing else in the statement reads that.

        Raises:
            OutOfDomainError: it is not.
        """
        source = self.case.source
        if source is None or source_table(self.case) is not source or "source" in tables_of_queries(self.case):
            raise OutOfDomainError
        return source

    def outcome_of(self, changed: Case, *, may_be_ambiguous: bool = False) -> Outcome:
        """Run a changed case that must succeed.

        Args:
            changed: the case.
            may_be_ambiguous: the change may bring ambiguous matches to light that the case's own layout hides (R-322).

        Raises:
            OutOfDomainError: the engine does not do this case, or ambiguous matches came to light.
            RelationBrokenError: the engine rejects it.
        """
        result = self.run(changed)
        if isinstance(result, Unsupported):
            raise OutOfDomainError
        if isinstance(result, Rejection):
            if may_be_ambiguous and result.error_class == AMBIGUOUS:
                raise OutOfDomainError
            lines = (
                "the case succeeds, but not in this form:",
                fit(changed.sql),
                fit(f"{result.error_class}: {result.message.splitlines()[0] if result.message else ''}"),
            )
            raise RelationBrokenError(self.mismatch(Check.ERROR, lines))
        return result

    def same(self, changed: Case, *, may_be_ambiguous: bool = False) -> tuple[Mismatch, ...]:
        """Require the same schema, rows, change rows and row metrics of a changed case."""
        return self.differences(self.outcome, self.outcome_of(changed, may_be_ambiguous=may_be_ambiguous))

    def with_clauses(self, text: StatementText) -> Case:
        """Return the case with another statement."""
        return replace(self.case, sql=text.sql())

    def differences(self, wanted: Outcome, found: Outcome) -> tuple[Mismatch, ...]:
        """Compare two answers in all that no layout decides."""
        schema = schema_mismatches(wanted.schema, found.schema, against=self.name, complete=True)
        if schema:
            return schema
        return (
            *self.rows(wanted.rows, found),
            *(self.changes(wanted.cdf, found) if wanted.cdf is not None else ()),
            *self.metrics(wanted.metrics, found),
        )

    def rows(self, wanted: Sequence[Row], found: Outcome) -> tuple[Mismatch, ...]:
        """Compare the rows of a table with those wanted."""
        return self._multiset(Check.ROWS, wanted, found.rows, found.schema)

    def changes(self, wanted: Sequence[Row], found: Outcome) -> tuple[Mismatch, ...]:
        """Compare change rows with those wanted; nothing where the table has no feed."""
        return () if found.cdf is None else self._multiset(Check.CDF, wanted, found.cdf, change_schema(found.schema))

    def _multiset(
        self, check: Check, wanted: Sequence[Row], found: Sequence[Row], schema: Schema
    ) -> tuple[Mismatch, ...]:
        differing = difference(wanted, found, wanted_schema=schema, found_schema=schema)
        return row_mismatches(differing, check=check, against=self.name, wanted_schema=schema, found_schema=schema)

    def metrics(self, wanted: Mapping[str, int], found: Outcome) -> tuple[Mismatch, ...]:
        """Compare the row metrics that are wanted and that the engine reports."""
        both = [name for name in ROW_METRICS if name in wanted and name in found.metrics]
        bounds = {name: Bound(wanted[name], wanted[name]) for name in both}
        return tuple(metric_mismatches(bounds, found.metrics, against=self.name, exact_names=False))

    def mismatch(self, check: Check, lines: Sequence[str]) -> Mismatch:
        """Report that the relation does not hold."""
        return Mismatch(check=check, against=self.name, kind="relation", lines=tuple(lines))


class RelationBrokenError(Exception):
    """A changed case was rejected; carries the mismatch."""

    def __init__(self, mismatch: Mismatch) -> None:
        super().__init__(mismatch.lines[0])
        self.mismatch = mismatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A metamorphic relation.

    Attributes:
        name: short; begins with the number of a property if the relation tests one.
        sentence: what must hold. domain: for which cases, in words.
        holds: returns the differences; raises ``OutOfDomainError`` for cases outside the domain.
    """

    name: str
    sentence: str
    domain: str
    holds: Callable[[Trial], tuple[Mismatch, ...]]

    def check(self, case: Case, outcome: Outcome, run: Callable[[Case], EngineResult]) -> tuple[Mismatch, ...] | None:
        """Try the relation; None outside its domain."""
        trial = Trial(case=case, outcome=outcome, name=self.name, run=run)
        try:
            found = self.holds(trial)
        except OutOfDomainError:
            return None
        except RelationBrokenError as broken:
            found = (broken.mismatch,)
        return tuple(replace(m, lines=(fit(f"{self.name}: {self.sentence}"), *m.lines)) for m in found[:1]) + found[1:]


def kept_under(name: str, transformation: Transformation, *, also: Callable[[Case], Case] = unchanged) -> Relation:
    """Make the relation that an answer stays the same under a transformation.

    A case that has the transformation's settings already is run without them.

    Args:
        name: of the relation.
        transformation: what to change.
        also: a further change that must not matter.
    """
    may_be_ambiguous = any(AMBIGUOUS in allowed.names for allowed in transformation.may_change)

    def holds(trial: Trial) -> tuple[Mismatch, ...]:
        case = trial.case
        trial.require(condition=transformation.applies_to(case, facts_without_reference(case, trial.outcome)))
        changed = also(transformation.rewrite(case))
        settings = transformation.settings
        if settings and settings.items() <= case.conf.items():
            changed = replace(changed, conf={n: value for n, value in changed.conf.items() if n not in settings})
        else:
            changed = replace(changed, conf={**changed.conf, **settings})
        trial.require(condition=changed != case)
        return trial.same(changed, may_be_ambiguous=may_be_ambiguous)

    return Relation(name=name, sentence=transformation.sentence, domain=transformation.domain, holds=holds)


def facts_without_reference(case: Case, outcome: Outcome) -> Facts:
    """Collect the facts of a case that need no evaluation; which clauses apply is not known."""
    merge = written_merge(case.sql)
    changed = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
    old, new = case.target.schema.columns, outcome.schema.columns
    return Facts(
        path=outcome.path,
        clauses_present=frozenset(
            (clause.kind.value, clause.action.value) for clause in (() if merge is None else merge.clauses)
        ),
        num_changed_rows=sum(outcome.metrics.get(name, 0) for name in changed),
        evolves_types=any(before.type != after.type for before, after in zip(old, new, strict=False)),
    )
