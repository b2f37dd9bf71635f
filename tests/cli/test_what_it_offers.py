"""docs/what-it-offers.md, line by line: the command that a user would type, its exit code, and its output.

A line is tried by commands of its own, or by tests that act like a user.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from cli_cases import DOWN, ECHO, FAULTY, write_case

from mergecheck.harness.oracles.relations.oracle import RELATIONS
from tools.selfcheck.catalogue import load_catalogue

if TYPE_CHECKING:
    from cli_cases import Mergecheck

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "what-it-offers.md"
FEW = "--engine duckdb --seed 1 --max-cases 3 --floor 0"


@dataclass(frozen=True, slots=True)
class Typed:
    """A command, its exit code, and patterns that its output must have, in any order."""

    command: str
    code: int
    shows: tuple[str, ...] = ()


WAVERS = ("--seed", "1", "--max-cases", "3", "--floor", "0", "--batch", "1")
SAME_FAULT = ("--seed", "1", "--max-cases", "14", "--floor", "0", "--batch", "1")
Tried: TypeAlias = Typed | str

LINES: dict[int, tuple[Tried, ...]] = {
    1: (
        Typed(
            f"run case.json --engine {FAULTY} --check metrics --json", 1, (r'"check": "metrics"', "left out by --check")
        ),
        Typed(f"replay case.json --engine {ECHO} --check rows", 0, (r"agree +1",)),
        Typed(f"fuzz {FEW} --check rows", 0, (r"not checked in some: .*metrics",)),
        "tests/cli/test_cli_run.py::test_only_some_observables_are_compared",
    ),
    2: (
        "tests/cli/test_what_it_offers.py::test_what_looks_alike_is_told_apart",
        "tests/meta/test_comparator_mutants.py::test_a_changed_cell_is_noticed",
        "tests/meta/test_comparator_mutants.py::test_a_lost_or_doubled_row_is_noticed",
    ),
    3: (
        Typed(f"fuzz {FEW} --oracle both", 0, (r"verified [1-9]",)),
        "tests/cli/test_cli_fuzz_replay.py::test_the_metamorphic_oracle_needs_no_reference",
    ),
    4: (
        Typed(
            f"run case.json --engine {FAULTY} --engine duckdb --engine {ECHO}", 1, (r"odd one out: loses-null-keys",)
        ),
    ),
    5: (
        Typed(
            "variants --list --engine delta-spark",
            0,
            tuple(rf"^{axis} " for axis in ("join", "aqe", "codegen", "reader", "files", "partitioned", "materialize")),
        ),
        "tests/cli/test_cli_variants.py::test_a_switch_of_an_engine_is_tried_proved_and_bisected",
    ),
    6: (
        Typed(f"variants case.json --engine {ECHO} --variant files=per-row --require-path bulk", 4, ("path bulk",)),
        "tests/cli/test_cli_variants.py::test_a_plan_that_never_ran_is_inconclusive",
        "tests/cli/test_cli_variants.py::test_a_switch_of_an_engine_is_tried_proved_and_bisected",
    ),
    7: (
        Typed(f"fuzz {FEW} --focus null-keys", 0, (r"--focus null-keys",)),
        Typed(f"fuzz {FEW} --steer", 0, (r"^3 cases in",)),
        Typed("fuzz --engine duckdb --focus nosuch", 2, ("unknown feature 'nosuch'",)),
        "tests/cli/test_what_it_offers.py::test_changed_files_choose_the_features",
    ),
    8: (
        Typed("fuzz --engine duckdb --seed 1 --max-cases 3 --floor 0 --boundary 40", 0, (r"^3 cases in",)),
        "tests/unit/strategies/test_strategies_layouts.py::test_tables_around_a_boundary",
    ),
    9: (
        Typed(f"replay case.json --engine {FAULTY}", 1, (r"^MISMATCH  ", r"^  rows  ", r"^  why  ", r"^  Reproduce: ")),
        "tests/unit/report/test_report.py::test_a_report_fits",
    ),
    10: (
        Typed("explain case.json", 0, (r"^why$", "clause 1 applies", "path [A-E]: ")),
        Typed(f"explain case.json --engine {FAULTY}", 1, (r"^MISMATCH  acts as if ",)),
        "tests/cli/test_cli_explain.py::test_a_mismatch_is_explained",
    ),
    11: (
        Typed("cases show case.json --sql", 0, ("MERGE INTO target",)),
        Typed("cases export case.json --format pyspark", 0, ("MERGE INTO",)),
        Typed("cases export case.json --format sqllogictest", 0, ("MERGE INTO",)),
        "tests/cli/test_cli_export.py::test_duckdb",
        "tests/cli/test_cli_export.py::test_delta_rs",
        "tests/cli/test_cli_export.py::test_sqllogictest",
        "tests/cli/test_cli_export.py::test_spark_scripts",
        "tests/cli/test_cli_run.py::test_a_case_is_shown_as_sql",
    ),
    12: (
        Typed(f"fuzz {FEW} --quiet", 0, (r"^3 cases in",)),
        "tests/cli/test_cli_process.py::test_a_run_ends_with_its_summary",
        "tests/cli/test_cli_events.py::test_events_are_lines_of_json",
        "tests/cli/test_cli_events.py::test_quiet_shows_results_only",
    ),
    13: (
        Typed(f"run case.json --engine {FAULTY}", 1, (r"^MISMATCH  ", r"^  rows ", r"^ +- \(")),
        "tests/cli/test_cli_fuzz_replay.py::test_colour_is_never_alone",
        "tests/cli/test_cli_widths.py::test_output_of_every_verb",
    ),
    14: (
        "tests/cli/test_what_it_offers.py::test_a_page_has_all_its_parts_and_no_script",
        "tests/cli/test_cli_html.py::test_fuzz",
        "tests/unit/cli/html/test_html_page.py::test_a_trend_over_several_runs",
    ),
    15: (
        Typed(f"fuzz {FEW} --observations seen.jsonl", 0, (r"^3 cases in",)),
        "tests/cli/test_cli_events.py::test_observations_have_the_form_that_hypothesis_documents",
    ),
    16: (
        Typed("cases show case.json --json", 0, ('"format_version": 1',)),
        "tests/cli/test_cli_fuzz_replay.py::test_a_case_of_another_version_is_named_and_the_others_run",
    ),
    17: (
        "tests/cli/test_cli_process.py::test_the_next_run_tells_of_the_case_of_a_killed_one",
        "tests/cli/test_cli_process.py::test_a_killed_run_leaves_no_process_and_its_directory_is_cleared",
    ),
    18: (
        Typed(f"run case.json --engine {ECHO}", 0),
        "tests/cli/test_cli_saved_cases.py::test_a_finding_is_adopted",
    ),
    19: (
        Typed(f"replay case.json --engine {ECHO}", 0, (r"agree +1",)),
        Typed(f"replay . --engine {FAULTY}", 1, (r"mismatch +1",)),
        Typed(f"replay case.json --engine {ECHO} --oracle metamorphic", 0, (r"agree +1",)),
        Typed("replay case.json --engine duckdb@nosuch", 2, ("nosuch",)),
        "tests/cli/test_cli_fuzz_replay.py::test_replay_says_what_became_of_a_finding",
        "tests/cli/test_cli_fuzz_replay.py::test_what_was_not_compared_again_is_not_fixed",
    ),
    20: (
        Typed("cases adopt case.json --diff", 0, (r"^\+.*MERGE INTO",)),
        "tests/cli/test_cli_saved_cases.py::test_a_finding_is_adopted",
        "tests/cli/test_cli_saved_cases.py::test_a_patch_for_git",
    ),
    21: (
        "tests/cli/test_what_it_offers.py::test_a_fault_is_one_finding_with_its_number_of_cases",
        "tests/cli/test_cli_fuzz_replay.py::test_a_finding_goes_all_the_way",
        "tests/unit/search/test_search.py::test_further_cases_of_a_known_fault_are_counted_not_kept",
    ),
    22: (
        Typed(
            f"fuzz --engine echo_engine:Wavers {' '.join(WAVERS)}",
            0,
            (r"mismatch 0  flaky [1-3]",),
        ),
        "tests/cli/test_what_it_offers.py::test_a_difference_that_does_not_come_back_is_kept_apart",
    ),
    23: (
        "tests/cli/test_docs_commands.py::test_commands_run",  # docs/how-to/deviation.md
        "tests/cli/test_cli_own_tables.py::test_a_known_deviation_is_no_mismatch",
        "tests/cli/test_what_it_offers.py::test_an_entry_that_no_longer_holds_fails_the_run",
    ),
    24: (
        Typed(f"cases shrink case.json --engine {FAULTY}", 1, (r"shrunk from 3 \+ 2 to 1 \+ 0 rows",)),
        "tests/cli/test_cli_saved_cases.py::test_a_case_is_shrunk",
    ),
    25: (
        Typed(f"fuzz {FEW}", 0, (r"verified \d+ \(\d+%\)  both rejected \d", "unsupported", "flaky 0  engine down 0")),
        "tests/cli/test_cli_fuzz_replay.py::test_too_little_verified_is_inconclusive",
        "tests/cli/test_cli_fuzz_replay.py::test_too_many_known_deviations_are_inconclusive",
    ),
    26: (
        Typed(f"fuzz {FEW} --verbose", 0, (r"rules reached: \d+ of \d+", "time by phase: draw")),
        Typed(f"fuzz {FEW} --json", 0, (r'"phase_seconds"',)),
        "tests/meta/test_generator_health.py::test_cases_are_distinct",
    ),
    27: (
        Typed(
            "engine mutants echo_engine:Echo --seed 1 --max-cases 3",
            0,
            (r"^noticed \d+ of \d+ mutants", "as if no rows matched"),
        ),
        "tests/unit/selfcheck/test_selfcheck_command.py::test_the_catalogue_can_be_listed",
        "tests/unit/selfcheck/test_selfcheck_command.py::test_a_fault_can_be_shown_as_a_diff",
    ),
    28: (
        Typed(f"fuzz {FEW}", 0, (r"seed 1 ",)),
        "tests/cli/test_what_it_offers.py::test_the_same_seed_gives_the_same_cases",
        "tests/cli/test_pytest_plugin.py::test_random_cases_are_one_item",
    ),
    29: (
        Typed("fuzz --engine duckdb --seed 1 --max-time 1 --floor 0 --batch 1", 0, (r"^\d+ cases? in ",)),
        "tests/unit/search/test_search.py::test_a_time_budget_ends_the_run",
        "tests/unit/search/test_search.py::test_max_findings_ends_the_run",
        "tests/cli/test_cli_fuzz_replay.py::test_a_run_that_is_much_worse_than_its_baseline",
    ),
    30: (
        "tests/cli/test_pytest_plugin.py::test_every_saved_case_is_an_item",
        "tests/cli/test_pytest_plugin.py::test_a_finding_fails_and_is_kept",
        "tests/cli/test_what_it_offers.py::test_pytest_has_the_options_that_draw_and_judge",
    ),
    31: (
        Typed(f"run case.json --engine {ECHO}", 0),
        Typed(f"run case.json --engine {FAULTY}", 1),
        Typed("run nosuch.json --engine duckdb", 2, ("nosuch.json",)),
        Typed(f"run case.json --engine {DOWN}", 3),
        Typed("fuzz --engine duckdb --seed 1 --max-cases 5 --floor 1", 4, ("inconclusive",)),
        "tests/cli/test_cli_fuzz_replay.py::test_an_interrupted_run_tells_what_it_did",
    ),
    32: (
        "tests/cli/test_cli_ci.py::test_a_real_run_is_reported",
        "tests/cli/test_cli_ci.py::test_known_deviations_of_a_run_are_counted_by_entry",
    ),
    33: (
        Typed("config ci github", 0, (r"\.github/workflows",)),
        "tests/cli/test_cli_ci.py::test_workflows_are_written_once",
        "tests/cli/test_cli_ci.py::test_the_steps_run",
    ),
    34: (
        Typed("engine new acme", 0, (r"^wrote acme/acme_engine\.py", r"cd acme && mergecheck engine conform")),
        Typed("engine mutants echo_engine:Echo --seed 1 --max-cases 1", 0, (r"^noticed \d+ of \d+ mutants",)),
        "tests/cli/test_cli_learn.py::test_learn_and_check",
        "tests/packaging/test_pages.py::test_the_wheel_alone_is_enough",  # docs/how-to/executor.md
        "tests/cli/test_engine_template.py::test_a_fault_is_found_within_twenty_examples",
    ),
    35: (
        Typed("config show fuzz --profile ci", 0, ("max-cases", "300")),
        "tests/cli/test_cli_config.py::test_a_mistake_is_told",
        "tests/cli/test_cli_config.py::test_a_project_file_is_found_upwards_and_its_paths_start_there",
        "tests/cli/test_cli_config.py::test_the_shipped_schema_is_that_of_the_options",
    ),
    36: (
        Typed("doctor --engine duckdb", 0, ("first case +duckdb 2",)),
        "tests/cli/test_cli_run.py::test_doctor",
        "tests/packaging/test_distributions.py::test_the_wheel_alone_brings_no_spark",
    ),
    37: (
        Typed(
            "fuzz --engine duckdb --seed 1 --max-cases 5 --floor 0 --verbose",
            0,
            (
                r"never fired",
                r"several matches in \d",
                r"never together: ",
                r"unsupported \d+ \(duckdb: ",
                r"pairs? of values",
            ),
        ),
    ),
    38: (
        "tests/cli/test_cli_import.py::test_a_merge_that_agrees",
        "tests/cli/test_cli_import.py::test_a_merge_that_differs",
    ),
    39: (
        "tests/cli/test_docs_commands.py::test_commands_run",
        "tests/packaging/test_pages.py::test_the_wheel_alone_is_enough",
        "tests/packaging/test_pages.py::test_a_table_becomes_a_small_case",
    ),
    40: (
        Typed("learn echo_engine:KnowsNothing -o one.json", 0, ("is now: mergecheck engine conform --learned",)),
        "tests/cli/test_cli_learn.py::test_the_old_name_works_in_this_release",
        "tests/cli/test_cli_fuzz_replay.py::test_a_case_of_another_version_is_named_and_the_others_run",
    ),
}
NOT_OF_PYTEST = {
    "--capabilities": "belongs to the command line; a test has cases(engine)",
    "--config": "has an option of its own",
    "--engine": "has an option of its own",
    "--deviations": "has an option of its own",
    "--no-deviations": "has an option of its own",
    "--profile": "has an option of its own",
    "--max-cases": "is --mergecheck-fuzz",
    **dict.fromkeys(("--range", "--on-spark"), "lab merge-runs puts results of the command line together"),
    **dict.fromkeys(("--html", "--json", "--quiet", "--verbose", "--history"), "pytest has its own reports"),
}


def numbered_lines() -> dict[int, str]:
    return {
        int(number): line
        for line in PAGE.read_text("utf-8").splitlines()
        for number in re.findall(r"^\| (\d+)\.", line)
    }


@pytest.mark.parametrize(
    ("number", "typed"),
    [
        pytest.param(number, typed, id=f"{number}-{place}")
        for number, tried in LINES.items()
        for place, typed in enumerate(tried, start=1)
        if isinstance(typed, Typed)
    ],
)
def test_a_line_holds(mergecheck: Mergecheck, case_file: str, number: int, typed: Typed) -> None:
    """The command does as its line of the page promises."""
    assert case_file == "case.json"
    ended = mergecheck(*shlex.split(typed.command))
    said = ended.out + ended.err
    assert (number, ended.code) == (number, typed.code), said
    plain = " ".join(said.split()) if typed.code == 2 else said
    missing = [pattern for pattern in typed.shows if not re.search(pattern, plain, re.MULTILINE)]
    assert (number, missing) == (number, []), said


def test_the_same_seed_gives_the_same_cases(mergecheck: Mergecheck, case_file: str) -> None:  # noqa: ARG001 - the folder
    """Two runs check the same cases with the same verdicts."""
    first, second = (mergecheck(*f"fuzz {FEW} --json".split()).json for _ in range(2))
    assert first["counts"] == second["counts"]
    assert sum(first["counts"].values()) == 3


ALIKE = {
    "zero-without-sign": ("DOUBLE", "-0.0D"),
    "null-for-nan": ("DOUBLE", "double('NaN')"),
    "blank-cut-off": ("STRING", "'a '"),
    "null-for-empty": ("STRING", "''"),
    "struct-of-nulls": ("STRUCT<f: INT>", "CAST(NULL AS STRUCT<f: INT>)"),
    "microsecond-cut-off": ("TIMESTAMP", "TIMESTAMP'2024-01-01 00:00:00.000001Z'"),
    "one-of-two-rows": ("INT", "1"),
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_looks_alike_is_told_apart(mergecheck: Mergecheck, folder: Path, name: str) -> None:
    """An engine that writes the one for the other differs; the reference's own answer agrees."""
    kind, value = ALIKE[name]
    path = write_case(
        folder / "alike.json",
        id=name,
        target={"schema": f"v {kind}", "files": []},
        source={"schema": "k INT", "rows": [[1], [2]]},
        sql=f"MERGE INTO target t USING source s ON FALSE WHEN NOT MATCHED THEN INSERT (v) VALUES ({value})",
    )
    assert mergecheck("run", path, "--engine", ECHO).code == 0
    ended = mergecheck("run", path, "--engine", "echo_engine:WritesAlike", "--check", "rows")
    assert (ended.code, len(re.findall(r"^  rows +\d rows? ", ended.out, re.MULTILINE))) == (1, 1), ended.out


def test_changed_files_choose_the_features(mergecheck: Mergecheck, folder: Path) -> None:
    """The configuration's entry for a file that was changed since a commit of git."""
    (folder / "joins").mkdir()
    (folder / "joins" / "keys.py").write_text("1\n")
    (folder / "mergecheck.toml").write_text('[fuzz]\nfocus-paths = ["joins/*=null-keys"]\n')
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    for arguments in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "first")):
        subprocess.run(("git", *who, *arguments), cwd=folder, check=True)  # noqa: S603, S607 - the test's own
    (folder / "joins" / "keys.py").write_text("2\n")
    ended = mergecheck(*f"fuzz {FEW} --focus-changed HEAD".split())
    assert (ended.code, "null-keys" in ended.out + ended.err) == (0, True), ended


def test_a_page_has_all_its_parts_and_no_script(mergecheck: Mergecheck, folder: Path) -> None:
    """One file that needs no other."""
    ended = mergecheck("fuzz", "--engine", FAULTY, *SAME_FAULT, "--max-findings", "1", "--html", "page.html")
    page = (folder / "page.html").read_text("utf-8")
    assert (ended.code, "<script" in page, re.findall(r'(?:src|href)="(?!#)[^"]*\.(?:js|css)"', page)) == (1, False, [])
    parts = ("findings", "doubts", "deviations", "coverage", "time")
    assert [part for part in parts if f'id="{part}"' not in page] == []


def test_a_fault_is_one_finding_with_its_number_of_cases(mergecheck: Mergecheck, folder: Path) -> None:
    """Several cases show it; one minimal case is kept, with the smallest examples of other forms beside it."""
    ended = mergecheck("fuzz", "--engine", FAULTY, *SAME_FAULT, "--json")
    kept = list((folder / ".mergecheck" / "findings").glob("*.json"))
    assert len(kept) == len(ended.json["findings"]) < ended.json["counts"]["mismatch"]


def test_a_difference_that_does_not_come_back_is_kept_apart(mergecheck: Mergecheck, folder: Path) -> None:
    """It is no finding, and its case is there for an investigation."""
    mergecheck("fuzz", "--engine", "echo_engine:Wavers", *WAVERS)
    store = folder / ".mergecheck" / "findings"
    assert list((store / "flaky").glob("*.json"))
    assert not list(store.glob("*.json"))


LOST = """
[[deviation]]
id = "lost-null-keys"
engine = "loses-null-keys"
versions = ">=1.0"
difference = ["rows missing_rows", "metrics P-*"]
reason = "Rows with a NULL key are lost."
link = "https://example.org/issues/17"
review = 2999-01-01
case = "case.json"
"""


@pytest.mark.parametrize("verb", ["replay case.json", f"fuzz {FEW.removeprefix('--engine duckdb ')}"])
def test_an_entry_that_no_longer_holds_fails_the_run(
    mergecheck: Mergecheck, case_file: str, folder: Path, verb: str
) -> None:
    """It explains the engine's difference, until a release has none; then it is named with what to do."""
    (folder / "known.toml").write_text(LOST)
    known = mergecheck("replay", case_file, "--engine", FAULTY, "--deviations", "known.toml")
    assert (known.code, known.out.split("  ")[0]) == (0, "DEVIATES"), known
    mended = mergecheck(*verb.split(), "--engine", "echo_engine:Mended", "--deviations", "known.toml")
    assert mended.code == 1
    said = " ".join(mended.err.split())
    assert "deviation 'lost-null-keys' no longer describes loses-null-keys 1.0" in said
    assert "its verdict is agree Narrow the versions, mend the entry, or take it out" in said


def test_pytest_has_the_options_that_draw_and_judge(pytestconfig: pytest.Config, mergecheck: Mergecheck) -> None:
    """Every option of ``fuzz``, but those that are named here with a reason."""
    shown = json.loads(mergecheck("config", "show", "fuzz", "--json").out)
    names = {f"--{name}" for name in shown["verbs"]["fuzz"]}
    assert len(names) > 20
    lacking = {name for name in names if f"mergecheck_{name[2:].replace('-', '_')}" not in vars(pytestconfig.option)}
    assert lacking <= set(NOT_OF_PYTEST)


def test_every_line_is_tried() -> None:
    """No line of the page is without a test, and every named test is there."""
    assert sorted(LINES) == sorted(numbered_lines()) == list(range(1, 41))
    named = {tried for each in LINES.values() for tried in each if isinstance(tried, str)}
    assert sorted(name for name in named if not is_there(*name.split("::"))) == []


def is_there(file: str, test: str = "") -> bool:
    if not (ROOT / file).is_file():
        return False
    body = ast.parse((ROOT / file).read_text("utf-8")).body
    return not test or test in {node.name for node in body if isinstance(node, ast.FunctionDef)}


def test_numbers_of_the_page_are_counted() -> None:
    lines = numbered_lines()
    assert f"{len(RELATIONS)} relations" in lines[3]
    assert f"{len(load_catalogue())} faults" in lines[27]
