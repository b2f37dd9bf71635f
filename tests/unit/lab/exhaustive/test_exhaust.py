"""Scopes, their pieces, and runs on engines that answer by the reference, right or wrong."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.lab.exhaustive.exhaustive_run import RunOptions, run_oracles, run_scope
from mergecheck.harness.lab.exhaustive.exhaustive_text import certificate, lines
from mergecheck.harness.lab.exhaustive.pieces import ScopeStream
from mergecheck.harness.lab.exhaustive.rule_reach import MEANINGS, reach_table, rules_by_reach
from mergecheck.harness.lab.exhaustive.scope import expression_sql
from mergecheck.harness.lab.exhaustive.scope_file import load_scope
from mergecheck.harness.oracles.reference_engine import ReferenceAsEngine
from mergecheck.harness.properties.case_space import CaseSpace
from mergecheck.harness.search.paired_query import PAIR
from mergecheck.harness.specification.rules import load_rules
from mergecheck.harness.verdict import ExitCode, UserInputError
from mergecheck.model.outcome import Outcome, Prediction, Unsupported
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.lab.exhaustive.exhaustive_run import ExhaustiveReport
    from mergecheck.harness.lab.exhaustive.scope import Scope
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult
    from mergecheck.reference.answer import Reference

TINY = """
extends = "core"
summary = "one row a table"
target_rows = 1
source_rows = 2
kinds = [["matched"], ["matched", "not matched"]]
on = [["=", "t.k", "s.k"]]
[conditions]
matched = ["true", ["is null", "s.v"]]
"not matched" = ["true"]
[actions]
matched = [{ v = "s.v" }]
"not matched" = [{ k = "s.k", v = "s.v" }]
"""
REFERENCE = MergeReference()


class Changed(ReferenceAsEngine):
    """Answers by the reference, and changes the answer."""

    capabilities = Capabilities(metrics=False)

    def __init__(self, change: Callable[[Case, Outcome], Outcome]) -> None:
        super().__init__()
        self._change = change

    def run(self, case: Case) -> EngineResult:
        answer = super().run(case)
        if isinstance(answer, Outcome):
            return self._change(case, answer)
        return replace(answer, unchanged=True) if hasattr(answer, "unchanged") else answer


class Refuses(Changed):
    """Refuses every merge of more pairs of tables than it takes."""

    def __init__(self, *, most: int) -> None:
        super().__init__(unchanged)
        self._most = most

    def run(self, case: Case) -> EngineResult:
        names = case.target.schema.names
        tables = (case.target, case.source)
        pairs = {row[t.schema.names.index(PAIR)] for t in tables for row in t.rows} if PAIR in names else {0}
        return Unsupported("so many rows") if len(pairs) > self._most else super().run(case)


def unchanged(_: Case, answer: Outcome) -> Outcome:
    return answer


def loses_updated_nulls(case: Case, answer: Outcome) -> Outcome:
    """Lose the rows that the merge has set to NULL."""
    place = answer.schema.names.index("v")
    old = Counter(case.target.rows)
    return replace(answer, rows=tuple(row for row in answer.rows if row[place] is not None or old[row]))


def errs_in_company(case: Case, answer: Outcome) -> Outcome:
    """Lose a row if target rows of several pairs are merged together."""
    names = case.target.schema.names
    pairs = {row[names.index(PAIR)] for row in case.target.rows} if PAIR in names else set()
    return replace(answer, rows=answer.rows[1:]) if len(pairs) > 1 else answer


@pytest.fixture
def tiny(tmp_path: Path) -> Scope:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return load_scope(str(path))


def run(scope: Scope, change: Callable[[Case, Outcome], Outcome], folder: Path, **options: Any) -> ExhaustiveReport:
    return run_on(Changed(change), scope, folder, **options)


def run_on(engine: Changed, scope: Scope, folder: Path, **options: Any) -> ExhaustiveReport:
    checker = Checker(engine=engine, reference=REFERENCE.evaluate)
    given = {"numbers": range(len(scope.statements)), "journal": None, "findings": folder / "findings"} | options
    return run_scope(scope, checker, RunOptions(**given))


def test_the_scopes_have_the_sizes_that_the_docs_give() -> None:
    assert len(load_scope("wide").statements) == 200_880
    page = Path(__file__).parents[4] / "docs" / "explanation" / "small-scope.md"
    text = page.read_text(encoding="utf-8")
    for name in ("quick", "core", "files", "evolve"):
        scope = load_scope(name)
        merges = sum(len(scope.pairs(statement)) for statement in scope.statements)
        (line,) = (line for line in text.splitlines() if line.startswith(f"| `{name}` |"))
        assert line.endswith(f"| {len(scope.statements):,} | {merges:,} |")


def test_symmetry_keeps_one_of_each_class() -> None:
    """The kept pairs stand for all pairs of lists of at most two of nine rows."""
    core = load_scope("core")
    symmetric = next(s for s in core.statements if s.is_symmetric)
    other = next(s for s in core.statements if not s.is_symmetric)
    assert (len(core.pairs(symmetric)), len(core.pairs(other))) == (1537, 3025)
    for statement in (symmetric, other):
        assert sum(pair.weight for pair in core.pairs(statement)) == (1 + 9 + 81) ** 2


def test_statements_differ_and_are_read_as_they_are_written() -> None:
    core = load_scope("core")
    assert len({statement.sql for statement in core.statements}) == len(core.statements)
    nested = ("not", ("or", ("is null", "t.k"), ("=", "s.v", 0)))
    assert expression_sql(nested) == "NOT ((t.k IS NULL) OR (s.v = 0))"


def test_all_agree(tiny: Scope, tmp_path: Path) -> None:
    """Ambiguous pairs are apart: one runs on the engine for each statement, the oracles judge all."""
    report = run(tiny, unchanged, tmp_path)
    pairs = len(tiny.pairs(tiny.statements[0]))
    assert report.merges.total() == pairs * len(tiny.statements)
    assert report.merges["both_rejected"] == len(tiny.statements)
    assert report.code is ExitCode.AGREE
    assert list(lines(report))[-1].endswith("all agree")
    assert certificate(report)["conforms"] is True


def test_a_difference_is_cut_to_its_pair_and_shrunk(tiny: Scope, tmp_path: Path) -> None:
    report = run(tiny, loses_updated_nulls, tmp_path)
    assert report.code is ExitCode.MISMATCH
    found = [event.finding.report.case for event in report.saved]
    assert found
    assert all(PAIR not in case.sql for case in found)
    assert all(len(case.target.rows) <= 1 for case in found)
    assert 0 < report.merges["mismatch"] < report.merges["agree"]
    assert certificate(report)["conforms"] is False
    assert report.saved[0].finding.number == min(report.results)


def test_a_difference_in_company_names_the_neighbours(tiny: Scope, tmp_path: Path) -> None:
    report = run(tiny, errs_in_company, tmp_path, numbers=range(1))
    case = report.saved[0].finding.report.case
    assert PAIR in case.sql
    assert len({row[-1] for row in case.target.rows}) == 2


def test_a_run_goes_on_where_its_journal_ends(tiny: Scope, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    first = run(tiny, unchanged, tmp_path, journal=journal, numbers=range(2))
    assert not first.left
    whole = run(tiny, unchanged, tmp_path, journal=journal)
    assert not whole.left
    assert whole.num_new < whole.merges.total()
    assert whole.merges == run(tiny, unchanged, tmp_path).merges
    with pytest.raises(UserInputError, match="journal of another run: scope 'tiny' and not 'quick'"):
        run(load_scope("quick"), unchanged, tmp_path, journal=journal)


def test_a_run_without_time_ends_with_what_is_left(tiny: Scope, tmp_path: Path) -> None:
    report = run(tiny, unchanged, tmp_path, max_seconds=0.0)
    assert report.left == tuple(range(len(tiny.statements)))
    assert report.code is ExitCode.INCONCLUSIVE
    assert list(lines(report))[-1] == "no statement of scope tiny is done; 4 are left"


def test_ranges_together_are_the_whole(tiny: Scope, tmp_path: Path) -> None:
    size = len(tiny.statements)
    parts = [run(tiny, unchanged, tmp_path, numbers=numbers) for numbers in (range(1), range(1, size))]
    assert parts[0].merges + parts[1].merges == run(tiny, unchanged, tmp_path).merges


def test_a_dispute_of_the_oracles_is_a_verdict_of_its_own(tiny: Scope, tmp_path: Path) -> None:
    """A reference that loses a row is found out without an engine, and the pair that shows it is kept."""

    def wrong(case: Case) -> Reference:
        found = REFERENCE.evaluate(case)
        if isinstance(found.answer, Prediction):
            kept = tuple(row for row in found.answer.rows if row[:2] != (0, 0))
            return replace(found, answer=replace(found.answer, rows=kept))
        return found

    report = run_oracles(tiny, wrong, RunOptions(numbers=range(len(tiny.statements)), journal=None, findings=tmp_path))
    assert report.code is ExitCode.ENGINE
    assert report.merges["dispute"] == len(tiny.statements)
    (saved,) = {path.name for path in (tmp_path / "harness_bug").glob("tiny-0-*.json")}
    case = json.loads((tmp_path / "harness_bug" / saved).read_text())
    assert PAIR not in case["sql"]


def test_a_missed_ambiguity_is_a_dispute(tiny: Scope, tmp_path: Path) -> None:
    def lenient(case: Case) -> Reference:
        found = REFERENCE.evaluate(case)
        matches = found.trace.matches
        if matches is None:
            return found
        fewer = replace(matches, multi_matched=frozenset(sorted(matches.multi_matched)[1:]))
        return replace(found, trace=replace(found.trace, matches=fewer))

    report = run_oracles(tiny, lenient, RunOptions(numbers=range(1), journal=None, findings=tmp_path))
    assert any("is ambiguous by the row model only" in line for line in report.results[0].disputes)


def test_pieces_hold_every_pair_once(tiny: Scope) -> None:
    stream = ScopeStream(tiny, [0], reference=REFERENCE.evaluate)
    while stream.draw(CaseSpace()) is not None:
        pass
    pieces = stream.pieces.values()
    assert sum(piece.num_pairs + piece.num_left for piece in pieces) == len(tiny.pairs(tiny.statements[0]))


def test_pairs_with_an_empty_table_are_apart_where_a_scope_splits(tiny: Scope) -> None:
    """Among others, their merge has rows on both sides: a fault of empty tables would never show."""
    for splits in (False, True):
        stream, empty = ScopeStream(replace(tiny, splits=splits), [0], reference=REFERENCE.evaluate), set()
        while (drawn := stream.draw(CaseSpace())) is not None:
            empty.add((not drawn.case.target.rows, not drawn.case.source.rows))
        assert empty == ({(a, b) for a in (True, False) for b in (True, False)} if splits else {(False, False)})


def test_a_journal_that_was_cut_goes_on(tiny: Scope, tmp_path: Path) -> None:
    """A run can end while it writes a line; no whole line is lost, and what follows has lines of its own."""
    journal = tmp_path / "j.jsonl"
    run(tiny, unchanged, tmp_path, journal=journal)
    whole = journal.read_text(encoding="utf-8")
    header, first, *_ = whole.splitlines(keepends=True)
    for cut in (header[:-1], header + first[:-1], header + first + first[: len(first) // 2]):
        journal.write_text(cut, encoding="utf-8")
        report = run(tiny, unchanged, tmp_path, journal=journal)
        assert report.merges.total() == len(tiny.pairs(tiny.statements[0])) * len(tiny.statements)
        assert journal.read_text(encoding="utf-8") == whole


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"merges": {"agree": "x"}}, "line 2, merges: must be an object of whole numbers"),
        ({"merges": {"agree": -5}}, "line 2, merges: must be an object of whole numbers"),
        ({"merges": {"agreed": 5}}, "line 2, merges: must be counts of agree, "),
        ({"merges": None}, "line 2, merges: must be an object"),
        ({"number": "x"}, "line 2, number: must be a whole number"),
        ({"findings": "abc"}, "line 2, findings: must be a list of texts"),
        ({"sql": 5}, "line 2, sql: must be a text"),
        ({"color": 5}, "line 2: unknown key 'color'"),
        (None, "line 2: must be an object"),
    ],
)
def test_a_journal_with_other_values_is_refused(tiny: Scope, tmp_path: Path, change: object, message: str) -> None:
    """The message names the line, and the file stays as it is."""
    journal = tmp_path / "j.jsonl"
    run(tiny, unchanged, tmp_path, journal=journal, numbers=range(1))
    header, first = journal.read_text(encoding="utf-8").splitlines()
    changed = json.loads(first) | change if isinstance(change, dict) else change
    text = f"{header}\n{json.dumps(changed)}\n"
    journal.write_text(text, encoding="utf-8")
    with pytest.raises(UserInputError, match=message):
        run(tiny, unchanged, tmp_path, journal=journal)
    assert journal.read_text(encoding="utf-8") == text


def test_what_an_engine_refuses_is_counted_with_its_reason(tiny: Scope, tmp_path: Path) -> None:
    """One engine refuses a statement; another refuses all pairs of tables together, and takes a part of them."""
    judged = len(tiny.pairs(tiny.statements[0])) * len(tiny.statements)
    whole = run_on(Refuses(most=-1), tiny, tmp_path)
    assert whole.merges.total() == judged
    assert whole.merges.keys() <= {"unsupported", "oracles"}
    assert whole.code is ExitCode.INCONCLUSIVE
    in_part = run_on(Refuses(most=40), tiny, tmp_path)
    assert in_part.merges.total() == judged
    assert in_part.merges["agree"] > 0
    assert in_part.merges["unsupported"] == in_part.reasons["so many rows"] > 0
    assert in_part.code is ExitCode.AGREE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("summary = 1\n", "no scope|is no scope"),
        (TINY + "\n[more]\n", "unknown key 'more'"),
        (TINY.replace('["=", "t.k", "s.k"]', '["==", "t.k", "s.k"]'), "no operator '=='"),
        (TINY.replace('"core"', '"croe"'), "extends: must be one of core, .*, given 'croe'"),
        (TINY.replace("target_rows = 1", "target_rows = 1.7"), "target_rows: must be a whole number from 0 to 10"),
        (TINY.replace("target_rows = 1", "target_rows = 9"), "has more than 1,000,000 pairs of tables"),
        ("every = 0" + TINY, "every: must be a whole number from 1"),
        ('split = "no"' + TINY, "split: must be true or false"),
        ('paths = ["Z"]' + TINY, "paths: must be one of 'A'"),
        ("tables = []" + TINY, "tables: must have an entry"),
        (TINY.replace('["=", "t.k", "s.k"]', "[]"), "no operator ''"),
        (TINY.replace('["=", "t.k", "s.k"]', '["=", "t.k"]'), "'=' needs 2 operands"),
        (TINY.replace('["=", "t.k", "s.k"]', '["=", "t.q", "s.k"]'), "no column 't.q'; there are t.k, t.v, s.k, s.v"),
        (TINY.replace('["=", "t.k", "s.k"]', '["=", "t.k", true]'), "'=' needs two values of one kind"),
        (TINY.replace('["=", "t.k", "s.k"]', '"t.k"'), 'must be a condition, given "t.k"'),
        (TINY.replace('["=", "t.k", "s.k"]', '["not", ' * 900 + '"true"' + "]" * 900), "deep|depth|levels"),
        (TINY.replace('["matched"]', '["mached"]'), "kinds, entry 1: must be one of 'matched'"),
        (TINY.replace('"not matched" = ["true"]', ""), "conditions: key 'not matched' is missing"),
        (TINY.replace('{ v = "s.v" }', '{ q = "s.v" }'), "no column 'q' to assign; there are k, v"),
        (TINY.replace('{ v = "s.v" }', "{ v = 3000000000 }"), "3000000000 is no INT"),
        (TINY.replace('{ v = "s.v" }', '{ v = "true" }'), "true is a truth value, and 'v' is a number"),
        (TINY.replace('{ k = "s.k", v = "s.v" }', '{ v = "t.v" }'), "no column 't.v'; there are s.k, s.v"),
        (TINY.replace('{ k = "s.k", v = "s.v" }', '"delete"'), "has no action 'delete'"),
        ("values = [3000000000]" + TINY, "'k': 3000000000 is no INT"),
        ('target = "k INT NOT NULL, v INT"' + TINY, "'k' must have a name and a type and no more"),
        ('target = "k INT, K INT, v INT"' + TINY, "'K' is the name of another column"),
        ('tables = [{ name = "a", partition_by = ["q"] }]' + TINY, "'q' is no column"),
        ('tables = [{ name = "a", properties = { delta = { x = "true" } } }]' + TINY, "both in quotes"),
        ('tables = [{ name = "a", conf = { "spark.sql.extensions" = "x.Y" } }]' + TINY, "'spark.sql.extensions'"),
        (
            'tables = [{ name = "a", source = "k INT" }]' + TINY.replace("s.v", "s.k").replace('{ v = "s.k" }', '"*"'),
            "the source has no column 'v'",
        ),
    ],
)
def test_a_file_that_is_no_scope_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(UserInputError, match=message):
        load_scope(str(path))


def test_a_scope_that_is_no_ordinary_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(UserInputError, match="it is no ordinary file"):
        load_scope(str(tmp_path / "pipe.toml"))


def test_truth_values_are_not_swapped_as_numbers_are(tmp_path: Path) -> None:
    """FALSE and TRUE equal 0 and 1 in Python; no pair of tables may be lost by that."""
    path = tmp_path / "truth.toml"
    schema = "k BOOLEAN, v BOOLEAN"
    path.write_text(f'values = ["null", "true", "false"]\ntarget = "{schema}"\nsource = "{schema}"' + TINY)
    scope = load_scope(str(path))
    for statement in scope.statements:
        assert sum(pair.weight for pair in scope.pairs(statement)) == (1 + 9) * (1 + 9 + 81)


def test_columns_are_quoted(tmp_path: Path) -> None:
    path = tmp_path / "names.toml"
    schema = "k INT, `a b` INT"
    text = TINY.replace('v = "s.v"', '"a b" = "s.a b"').replace("s.v", "s.a b")
    path.write_text(f'target = "{schema}"\nsource = "{schema}"' + text)
    scope = load_scope(str(path))
    assert "SET `a b` = s.`a b`" in scope.statements[0].sql
    assert (
        run_oracles(scope, REFERENCE.evaluate, RunOptions(numbers=range(1), journal=None, findings=tmp_path)).code
        is ExitCode.AGREE
    )


def test_an_unknown_scope_names_those_there_are() -> None:
    with pytest.raises(UserInputError, match="core"):
        load_scope("cor")


def test_every_rule_of_the_specification_is_marked_once() -> None:
    marked = Counter(number for numbers in rules_by_reach().values() for number in numbers)
    assert marked == Counter(load_rules().keys())
    assert rules_by_reach().keys() == MEANINGS.keys()


def test_the_page_has_the_table_of_the_rules() -> None:
    page = Path(__file__).parents[4] / "docs" / "explanation" / "small-scope.md"
    assert reach_table() in page.read_text(encoding="utf-8")
