"""What writers come to one after the other, by the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.lab.concurrency.scenario import AddFeature, ReplaceTable, SetProperty
from mergecheck.harness.lab.sequences.expected import expected
from mergecheck.harness.lab.sequences.steps import Delete, Merge, Rewrite
from mergecheck.harness.verdict import HarnessBugError
from mergecheck.model.case import Case
from mergecheck.model.outcome import Prediction, Rejection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.harness.lab.concurrency.scenario import Writer
    from mergecheck.model.case import Row, Target
    from mergecheck.reference import MergeReference

_APP_ID, _APP_VERSION = (f"spark.databricks.delta.write.{name}" for name in ("txnAppId", "txnVersion"))


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """The result of one writer.

    Attributes:
        target: the table afterwards.
        commits: whether there is a new version; None if a writer that changes no row may make one or not.
        rejection: why it fails; the table is unchanged then.
        changes: its change rows; None if they are not recorded.
        row: the row that a merge returns (R-110).
        changes_rows: whether a row or the schema is changed.
    """

    target: Target
    commits: bool | None
    rejection: Rejection | None = None
    changes: tuple[Row, ...] | None = None
    row: Mapping[str, int] | None = None
    changes_rows: bool = True


def after(target: Target, writer: Writer, reference: MergeReference) -> After:
    """Compute the result of a writer on a table.

    Raises:
        HarnessBugError: the reference has no answer; a scenario may hold only writers for which it has one.
    """
    action = writer.action
    if isinstance(action, SetProperty):
        changed = replace(target, properties={**target.properties, action.name: action.value})
        return After(target=changed, commits=True)
    if isinstance(action, AddFeature):
        return After(target=target, commits=True)
    if isinstance(action, ReplaceTable):
        return After(target=replace(target, schema=action.schema, files=(action.rows,)), commits=True)
    if isinstance(action, Merge):
        return _after_merge(target, writer.name, action, reference)
    left = expected(action, target, reference)
    new = replace(target, schema=left.schema, files=(left.rows,))
    may_be_idle = isinstance(action, Rewrite) or (isinstance(action, Delete) and len(left.rows) == len(target.rows))
    commits = None if may_be_idle else True
    return After(target=new, commits=commits, changes=left.changes if target.change_data_feed else None)


def after_all(target: Target, writers: Sequence[Writer], reference: MergeReference) -> list[After]:
    """Compute the results of several writers, one after the other."""
    found: list[After] = []
    for writer in writers:
        found.append(after(found[-1].target if found else target, writer, reference))
    return found


def _after_merge(target: Target, name: str, merge: Merge, reference: MergeReference) -> After:
    case = Case(id=name, target=target, source=merge.source, sql=merge.sql, conf=merge.conf)
    found = reference.evaluate(case)
    if isinstance(found.answer, Rejection):
        return After(target=target, commits=False, rejection=found.answer)
    if not isinstance(found.answer, Prediction) or found.alternative is not None:
        raise HarnessBugError(f"the reference has no single answer to {merge.sql}: {found.answer}")
    transactions = dict(target.transactions)
    if _APP_ID in merge.conf and found.answer.committed:
        transactions[merge.conf[_APP_ID]] = int(merge.conf[_APP_VERSION])
    return After(
        target=replace(target, schema=found.answer.schema, files=(found.answer.rows,), transactions=transactions),
        commits=found.answer.committed,
        changes=found.answer.cdf,
        row=found.answer.result_row,
        changes_rows=found.answer.num_changed_rows > 0 or found.answer.schema != target.schema,
    )
