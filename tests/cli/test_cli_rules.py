"""``mergecheck lab rules``: its table, JSON and exit codes; and rules in the output of ``fuzz`` and ``replay``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from cli_cases import ECHO, case_document

from mergecheck.harness.cli.verbs import rules
from mergecheck.harness.cli.verbs.fuzzing import summary
from mergecheck.harness.oracles import reference_oracle
from mergecheck.harness.properties.facts import facts_of
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import Unsupported
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck
    from syrupy.assertion import SnapshotAssertion

    from mergecheck.model.case import Case


@dataclass(frozen=True, slots=True)
class FakeRule:
    number: str
    out_of_reach: str | None = None


RULES = (
    FakeRule("R-142", "one statement runs at a time"),
    FakeRule("R-202"),
    FakeRule("R-301"),
    FakeRule("R-320"),
)


@pytest.fixture(autouse=True)
def few_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for the table of rules and for how the reference notes them."""

    def few_facts(case: Case, reference: Reference) -> Facts:
        facts = facts_of(case, reference)
        reached = {"R-301", *(("R-320",) if facts.multi_matched else ())}
        return replace(facts, rules=frozenset(reached))

    for module in (rules, summary):
        monkeypatch.setattr(module, "known_rules", lambda: RULES)
    for module in (rules, reference_oracle):
        monkeypatch.setattr(module, "facts_of", few_facts)


@pytest.fixture
def corpus(folder: Path) -> str:
    """Three cases: an upsert, an ambiguous one, and one that the reference may not support."""
    twice = {"schema": "id BIGINT, v STRING", "rows": [[1, "x"], [1, "y"]]}
    bad = case_document(id="rejected", sql=case_document()["sql"].replace("s.id", "s.nothing"))
    documents = [case_document(), case_document(id="ambiguous", source=twice), bad]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    return "corpus.jsonl"


def test_rules_of_saved_cases(mergecheck: Mergecheck, corpus: str, snapshot: SnapshotAssertion) -> None:
    """Every rule with its title and its number of cases, the rules that were not reached, and why some cannot be."""
    ended = mergecheck("lab", "rules", corpus)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == snapshot


def test_rules_on_a_terminal(
    mergecheck: Mergecheck, corpus: str, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same words in a table."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    assert mergecheck("lab", "rules", corpus).out == snapshot


def test_json_of_rules(mergecheck: Mergecheck, corpus: str) -> None:
    """The same as data; without random cases there is no seed."""
    document = mergecheck("lab", "rules", corpus, "--json").json
    assert document["rules"]["R-301"] == {
        "title": "the first clause that holds fires",
        "num_cases": 3,
        "out_of_reach": None,
    }
    assert document["rules"]["R-142"]["out_of_reach"] == "one statement runs at a time"
    assert (document["reached"], document["not_reached"], document["out_of_reach"]) == (2, 1, 1)
    assert (document["num_cases"], document["seed"], document["exit_code"]) == (3, None, 0)


def test_a_rule_that_was_not_reached_fails_on_demand(mergecheck: Mergecheck, corpus: str) -> None:
    """Only with --require-all, and never for a rule that is out of reach."""
    assert mergecheck("lab", "rules", corpus, "--require-all").code == 4
    assert mergecheck("lab", "rules", corpus).code == 0


def test_rules_of_random_cases(mergecheck: Mergecheck, monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed names the cases; if only rules out of reach are missing, --require-all ends with 0."""
    facts = Facts(rules=frozenset({"R-202", "R-301", "R-320"}))
    monkeypatch.setattr(rules.MergeReference, "evaluate", lambda *_: Reference(answer=Unsupported("why")))
    monkeypatch.setattr(rules, "facts_of", lambda *_: facts)
    ended = mergecheck("lab", "rules", "--seed", "3", "--max-cases", "5", "--require-all")
    assert ended.code == 0
    assert ended.out.splitlines()[-3:-1] == [
        "rules reached: 3 of 3; 1 out of reach; 5 cases, 5 not supported by the reference:",
        "       5  why",
    ]
    assert ended.out.splitlines()[-1] == "seed 3  same cases again: mergecheck lab rules --seed 3 --max-cases 5"


def test_random_and_saved_cases_exclude_each_other(mergecheck: Mergecheck, corpus: str) -> None:
    """A seed has no meaning for saved cases."""
    ended = mergecheck("lab", "rules", corpus, "--seed", "3")
    assert ended.code == 2
    assert "leave them out if PATH is given" in ended.err


def test_a_case_that_cannot_be_read_never_ends_green(mergecheck: Mergecheck, folder: Path, corpus: str) -> None:
    """It is named, and the others are counted."""
    (folder / "bad.json").write_text("{")
    ended = mergecheck("lab", "rules", corpus, "bad.json", "--json")
    assert (ended.code, ended.json["num_cases"], len(ended.json["unreadable"])) == (2, 3, 1)
    assert "not read: bad.json" in ended.err


def test_a_folder_of_other_files_is_told_in_few_lines(mergecheck: Mergecheck, folder: Path) -> None:
    """A folder that holds something else has any number of them; the JSON names all."""
    (folder / "others").mkdir()
    for number in range(25):
        (folder / "others" / f"{number}.json").write_text('{"colour": 1}')
    ended = mergecheck("cases", "list", "others", "--json")
    assert (ended.code, len(ended.json["unreadable"])) == (2, 25)
    assert ended.err.count("unknown key 'colour'") == 10
    assert "15 more" in ended.err


def test_fuzz_and_replay_count_rules(mergecheck: Mergecheck, corpus: str) -> None:
    """By number in the JSON; fuzz --verbose has one line with how many were reached."""
    assert mergecheck("replay", corpus, "--engine", ECHO, "--json").json["rules"] == {"R-301": 3, "R-320": 1}
    arguments = ("fuzz", "--engine", ECHO, "--max-cases", "3", "--seed", "3", "--floor", "0")
    assert mergecheck(*arguments, "--json").json["rules"]["R-301"] == 3
    assert re.search(r"rules reached: [12] of 3$", mergecheck(*arguments, "--verbose").out, re.MULTILINE)


def test_a_number_prints_the_page(mergecheck: Mergecheck) -> None:
    """Text, minimal case and random cases as Markdown; several pages one after the other, in any case."""
    out = mergecheck("lab", "rules", "R-320", "p-12").out
    assert out.startswith("# R-320 Several source rows match one target row\n\nPart 3: rows.\n")
    for line in ("## A minimal case", "## Random cases", "# P-12 The change rows explain the table"):
        assert line in out.splitlines()
    assert "](" not in out  # no links in a terminal


def test_a_page_on_a_terminal_is_laid_out(mergecheck: Mergecheck, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a table, in which a long name is broken and never cut."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    out = mergecheck("lab", "rules", "R-510").out
    assert "# R-510" not in out
    assert "\u2500" in out
    assert "\u2026" not in out


def test_a_page_as_json(mergecheck: Mergecheck) -> None:
    (page,) = mergecheck("lab", "rules", "R-142", "--json").json["rules"]
    assert page["title"] == "the schema changes between analysis and execution"
    assert (page["case"], page["num_cases"]) == (None, None)
    assert page["out_of_reach"] == "needs another writer between analysis and execution"
    (page,) = mergecheck("lab", "rules", "R-320", "--json").json["rules"]
    assert page["case"]["sql"].startswith("MERGE INTO target")
    assert page["reference"]["error"]["class"] == "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("R-329",), "there is no rule R-329. Did you mean R-"),
        (("P-999",), "there is no rule P-999."),
        (("R-320", "corpus.jsonl"), "give either numbers of rules or cases to count"),
        (("R-320", "--max-cases", "3"), "give either numbers of rules or cases to count"),
    ],
)
def test_what_is_no_rule_is_said(mergecheck: Mergecheck, arguments: tuple[str, ...], said: str) -> None:
    ended = mergecheck("lab", "rules", *arguments)
    assert ended.code == 2
    assert said in ended.err


def test_a_file_may_be_called_like_a_rule(mergecheck: Mergecheck, folder: Path) -> None:
    """What exists is a path: a folder here."""
    (folder / "R-320").mkdir()
    (folder / "R-320" / "case.json").write_text(json.dumps(case_document()))
    assert mergecheck("lab", "rules", "R-320", "--json").json["num_cases"] == 1
