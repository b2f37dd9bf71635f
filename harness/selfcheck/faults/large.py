"""Faults of what only large tables bring: files left out by the source's keys, and rewriting with little to shuffle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from mergecheck.harness.selfcheck import preconditions as needs
from mergecheck.harness.selfcheck.fault import Area, Edit, Fault, with_other
from mergecheck.harness.selfcheck.worker_faults import copy_but_first, report_no_deletes
from mergecheck.merge import plan
from mergecheck.merge.executors.first_scan import plan_first_scan
from mergecheck.merge.executors.optimizations import low_shuffle, source_keys
from mergecheck.merge.table.reading.data_skipping import conjuncts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _handed_over(name: str, function: Any) -> Edit:
    return Edit(plan, "rewrite_with_low_shuffle", with_other(low_shuffle, name, function), comparable=False)


def _keys_alone(_right: Any) -> Callable[..., Any]:
    return lambda run: replace(plan_first_scan(run), files=source_keys.files_with_source_keys(run))


def _minimum_left_out(right: Any) -> Callable[..., tuple[int, int]]:
    def narrowed(*args: Any) -> tuple[int, int]:
        low, high = right(*args)
        return low + 1, high

    return narrowed


def _parts_of_or(node: exp.Expr) -> Iterator[exp.Expr]:
    for part in conjuncts(node):
        bare = part.unnest()
        if isinstance(bare, exp.Or):
            yield from _parts_of_or(bare.left)
            yield from _parts_of_or(bare.right)
        else:
            yield bare


def _null_safe_as_equal(node: exp.Expr) -> Iterator[exp.Expr]:
    for part in conjuncts(node):
        yield exp.EQ(this=part.this, expression=part.expression) if isinstance(part, exp.NullSafeEQ) else part


def _whatever_the_matches(right: Any) -> Callable[..., Any]:
    return lambda run, touched: right(run, replace(touched, num_multiple_matches=0))


def _whole_files(right: Any) -> Callable[..., Any]:
    return lambda *, location, left_out: right(location=location, left_out=left_out[:0])


def _none_of(right: Any) -> Callable[..., Any]:
    return lambda *args: right(*args).where("FALSE")


LARGE_FAULTS = (
    Fault(
        name="key-at-the-edge-left-out",
        area=Area.SKIPPING,
        sentence="A source key that is the minimum of a file is not found in it.",
        rules=("R-410", "R-424"),
        origin="a comparison that is off by one",
        edits=(Edit(source_keys, "_range", _minimum_left_out),),
        needs=needs.counted_as_large,
    ),
    Fault(
        name="keys-of-a-disjunction",
        area=Area.SKIPPING,
        sentence="Files are left out by keys that ON does not demand: those of an OR.",
        rules=("R-410", "R-424"),
        origin="pruning by join keys",
        edits=(Edit(source_keys, "key_pairs", with_other(source_keys, "conjuncts", _parts_of_or)),),
        needs=needs.in_a_large_table(needs.text_in_statement(" OR ")),
    ),
    Fault(
        name="null-safe-keys-have-ranges",
        area=Area.SKIPPING,
        sentence="Files are left out by keys that are compared with <=>, although NULL lies in no range.",
        rules=("R-410", "R-424"),
        origin="pruning by join keys",
        edits=(Edit(source_keys, "key_pairs", with_other(source_keys, "conjuncts", _null_safe_as_equal)),),
        needs=needs.in_a_large_table(needs.text_in_statement("<=>")),
    ),
    Fault(
        name="low-shuffle-with-several-matches",
        area=Area.CDF,
        sentence="Rows deleted by several source rows are rewritten without de-duplication.",
        rules=("R-A04", "R-620"),
        origin="danger 2",
        edits=(Edit(plan, "uses_low_shuffle", _whatever_the_matches),),
        needs=needs.in_a_large_table(needs.several_matches),
    ),
    Fault(
        name="changed-rows-copied-too",
        area=Area.WRITING,
        sentence="Rows that a clause changed are copied from their file as well.",
        rules=("R-412",),
        origin="rewriting with little to shuffle",
        edits=(Edit(low_shuffle, "FileToCopy", _whole_files),),
        needs=needs.counted_as_large,
    ),
    Fault(
        name="inserts-beside-by-source-forgotten",
        area=Area.WRITING,
        sentence="Where all rows of a large table are joined for a by-source clause, nothing is inserted.",
        rules=("R-412", "R-404"),
        origin="rewriting with little to shuffle",
        edits=(Edit(low_shuffle, "_inserted_rows", _none_of, comparable=False),),
        needs=needs.in_a_large_table(needs.by_source),
    ),
    Fault(
        name="files-without-keys-untouched-by-source",
        area=Area.SKIPPING,
        sentence="Files that hold no key of the source are left out, although there is a by-source clause.",
        rules=("R-410",),
        origin="pruning by join keys",
        edits=(Edit(plan, "plan_first_scan_by_keys", _keys_alone, comparable=False),),
        needs=needs.in_a_large_table(needs.by_source),
    ),
    Fault(
        name="deleted-rows-copied",
        area=Area.WRITING,
        sentence="Rows that a clause deleted are not reported, and copied.",
        rules=("R-412",),
        origin="rewriting with little to shuffle",
        edits=(_handed_over("write_modified_rows", report_no_deletes),),
        needs=needs.counted_as_large,
    ),
    Fault(
        name="one-changed-row-left-out",
        area=Area.WRITING,
        sentence="Of the changed rows of a file only the first is left out of the copy.",
        rules=("R-412",),
        origin="rewriting with little to shuffle",
        edits=(_handed_over("copy_groups", copy_but_first),),
        needs=needs.counted_as_large,
    ),
)
