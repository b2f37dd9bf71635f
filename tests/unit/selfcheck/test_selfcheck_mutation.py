"""Changed functions: compiled from their changed source, called by everybody, and put right again."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.merge.expressions.clock import StatementClock
from mergecheck.merge.metrics import ExecutionPath, PathResult
from mergecheck.merge.syntax.expression_reader import parse_expression
from mergecheck.merge.table.commit import actions
from mergecheck.merge.table.reading.bounds import ColumnBounds
from mergecheck.merge.table.reading.data_skipping import Truth, compare_truths
from mergecheck.merge.table.storage.workers import run_in_workers
from mergecheck.merge.table.writing.row_records import RowAction
from mergecheck.merge.table.writing.write import WriteResult
from tools.selfcheck.fault import name_of, workers_given
from tools.selfcheck.mutation import (
    Change,
    StaleChangeError,
    calling,
    changed_in_worker,
    compile_changes,
    diff,
    find_function,
    replaced,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ENCODED = "merge.table.commit.actions.encoded"


def changed(function: str, piece: str, by: str) -> Any:
    return replaced(compile_changes([Change(function=function, replace=piece, by=by)]))


def test_a_function_is_changed_within_a_block_only() -> None:
    """Also if the block ends with an error."""
    with changed(ENCODED, 'quote(path, safe="/=")', "path"):
        assert actions.encoded("a b") == "a b"
    assert actions.encoded("a b") == "a%20b"
    with pytest.raises(ZeroDivisionError), changed(ENCODED, 'quote(path, safe="/=")', "str(1 // 0)"):
        actions.encoded("a b")
    assert actions.encoded("a b") == "a%20b"


def test_several_pieces_of_one_function_are_changed() -> None:
    """One after the other."""
    name = "merge.table.reading.data_skipping._null_test"
    changes = [
        Change(function=name, replace="{Truth.TRUE}", by="{Truth.FALSE}"),
        Change(function=name, replace="({Truth.FALSE}", by="({Truth.TRUE}"),
    ]
    (wrong,) = compile_changes(changes).values()
    assert wrong(ColumnBounds(may_be_null=True, may_be_value=False)) == {Truth.FALSE}
    assert wrong(ColumnBounds(may_be_null=False, may_be_value=True)) == {Truth.TRUE}


def test_functions_in_tables_are_changed() -> None:
    """Whoever holds a function calls the changed one."""
    bounds = ColumnBounds(lower=1, upper=2, may_be_null=False)
    assert compare_truths(bounds, 1, "<") == {Truth.FALSE}
    with changed("merge.table.reading.data_skipping._below", "bounds.lower < value", "bounds.lower <= value"):
        assert compare_truths(bounds, 1, "<") == {Truth.FALSE, Truth.TRUE}


def test_properties_class_methods_and_functions_are_changed() -> None:
    """They hold functions."""
    with changed("merge.expressions.clock.StatementClock.start", "cls(instant=datetime.now(UTC))", "None"):
        assert StatementClock.start() is None
    with changed("merge.expressions.scope.Column.positional", "target_column(self.index)", "None"):
        pass
    result = PathResult(path=ExecutionPath.C, written=WriteResult(counts={RowAction.COPY: 2}), num_source_rows=0)
    with changed("merge.metrics.PathResult.count", "return total - ", "return 7 * total - "):
        assert result.count(RowAction.COPY) == 14
    assert result.count(RowAction.COPY) == 2
    with changed("merge.syntax.expression_reader.parse_expression", "return tree", "return None"):
        assert parse_expression("1 + 1") is None
    assert parse_expression("1 + 1") is not None


def test_a_changed_function_keeps_its_place() -> None:
    """Tracebacks lead to its file and line."""
    (right, wrong), *_ = compile_changes(
        [Change(function=ENCODED, replace='quote(path, safe="/=")', by="path")]
    ).items()
    assert wrong.__code__.co_filename == right.__code__.co_filename
    assert wrong.__code__.co_firstlineno == right.__code__.co_firstlineno
    assert wrong.__name__ == "encoded"


@pytest.mark.parametrize(
    ("function", "piece", "by", "message"),
    [
        ("merge.table.commit.actions.gone", "x", "y", "there is no such function"),
        ("merge.table.gone.encoded", "x", "y", "there is no such function"),
        ("merge.table.commit.actions.DISTRIBUTION", "x", "y", "is no function"),
        ("merge.command.table_checks", "x", "y", "is defined as mergecheck.merge.table.writing.checks.table_checks"),
        (ENCODED, "nowhere", "y", "'nowhere' occurs 0 times"),
        (ENCODED, "path", "y", "'path' occurs 4 times"),
        (ENCODED, "return ", "return (", "the changed source is no Python"),
        (ENCODED, "return ", "return  ", "the change makes no difference"),
    ],
)
def test_a_change_that_does_not_fit_is_refused(function: str, piece: str, by: str, message: str) -> None:
    """A function that is renamed or written anew cannot disarm a fault."""
    with pytest.raises(StaleChangeError, match=message):
        compile_changes([Change(function=function, replace=piece, by=by)])


def test_a_change_is_shown_as_a_diff() -> None:
    """With a little of what is around it."""
    lines = diff([Change(function=ENCODED, replace='quote(path, safe="/=")', by="path")])
    assert lines[:2] == [f"--- {ENCODED}", f"+++ {ENCODED}"]
    assert [line for line in lines[2:] if line[0] in "+-"] == ['-    return quote(path, safe="/=")', "+    return path"]


def test_a_function_can_behave_as_any_other() -> None:
    """With its arguments, and its own defaults afterwards."""
    with replaced({find_function(ENCODED): calling(lambda *args, **kwargs: (args, kwargs))}):
        assert actions.encoded("a", b=1) == (("a",), {"b": 1})  # type: ignore[call-arg]  # it does not have this
    assert actions.encoded("a b") == "a%20b"


class Frame:
    """A frame that runs what workers would."""

    def mapInArrow(self, function: Callable[[Iterable[str]], Iterator[str]], ddl: str) -> list[str]:  # noqa: N802 - Spark's
        return [ddl, *function(iter(["a b"]))]


def encode_all(prefix: str, paths: Iterable[str]) -> Iterator[str]:
    """Act as a task for workers."""
    for path in paths:
        yield prefix + actions.encoded(path)


def test_the_changed_source_travels_to_the_workers() -> None:
    """The task runs with it, and nothing else does."""
    change = Change(function=ENCODED, replace='quote(path, safe="/=")', by="path")
    given = []

    def changed_task(task: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
        given.append(name_of(task))
        return changed_in_worker((change,), task)

    with workers_given(changed_task):
        assert actions.encoded("a b") == "a%20b"
        assert run_in_workers(Frame(), functools.partial(encode_all, "x "), "ddl") == ["ddl", "x a b"]  # type: ignore[arg-type]  # no frame of Spark's
    assert given == ["encode_all"]
    assert run_in_workers(Frame(), functools.partial(encode_all, "x "), "ddl") == ["ddl", "x a%20b"]  # type: ignore[arg-type]  # the same
    assert actions.encoded("a b") == "a%20b"
