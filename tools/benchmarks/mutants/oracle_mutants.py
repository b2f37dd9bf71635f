"""Automatic mutants of the reference and of the comparator: who guards the guards?

    uv sync --group dev --group mutants
    python -m tools.benchmarks.mutants.oracle_mutants [--only reference] [--sample 300] [--seed 1]
    python -m tools.benchmarks.mutants.oracle_mutants --only reference.evaluation --scope core --scope files

No engine merges here. A mutant of the reference is killed by the saved cases, whose authors wrote the expected result,
by the invariants and metamorphic relations on random cases that it answers itself, or by the tests of its rules and of
its expressions, which ask Spark. A mutant of the comparator is killed by its tests. With ``--scope``, mutants of the
reference are held against the row model alone, on the merges of small scopes.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeVar

from mergecheck import harness, reference
from mergecheck.harness.engines.spark.packages import request_delta, request_s3a
from mergecheck.harness.lab.exhaustive.pieces import ScopeStream
from mergecheck.harness.lab.exhaustive.scope_file import load_scope
from mergecheck.harness.oracles.reference_engine import ReferenceAsEngine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.oracles.relations.oracle import check_relations
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import load_cases
from mergecheck.reference import MergeReference
from mergecheck.strategies import samples
from tools.benchmarks.mutants.changed_lines import modules_of, one_per_line
from tools.benchmarks.mutants.mutant_tests import watch_tests
from tools.benchmarks.mutants.planted_mutants import planted
from tools.selfcheck.fault import Mutant
from tools.selfcheck.scope_cases import Scopes
from tools.selfcheck.watch import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mergecheck.harness.lab.exhaustive.scope import Scope
    from mergecheck.model.case import Case
    from tools.benchmarks.mutants.changed_lines import ChangedLine
    from tools.selfcheck.fault import Fault
    from tools.selfcheck.scope_cases import Chosen

T = TypeVar("T")

# Modules, and the tests that must kill the mutants that the cases do not kill.
PARTS = {
    "reference": (
        "tests/spec/test_reference_rules.py",
        "tests/spec/test_reference_values.py",
        "tests/spec/test_reference_evolution.py",
        "tests/spec/test_reference_constraints.py",
        "tests/spec/test_reference_sources.py",
        "tests/spec/test_reference_analysis.py",
        "tests/spec/test_reference_array_functions.py",
        "tests/spec/test_reference_rule_coverage.py",
        "tests/unit/reference/test_case_file.py",
        "tests/unit/reference/test_case_layout.py",
        "tests/meta/test_reference_row_model.py",
        "tests/engines/test_reference_casts.py",
        "tests/engines/test_reference_expressions.py",
        "tests/engines/test_reference_queries.py",
    ),
    "harness": (
        "tests/meta/test_comparator_mutants.py",
        "tests/unit/compare/test_compare.py",
        "tests/unit/compare/test_compare_rejections.py",
        "tests/unit/compare/test_compare_expectations.py",
        "tests/unit/compare/test_compare_rows.py",
        "tests/unit/compare/test_compare_cell_identity.py",
        "tests/unit/oracles/test_reference_oracle.py",
        "tests/unit/compare/test_compare_invariants.py",
    ),
}
MODULES = {
    "reference": (reference, ("mergecheck.reference.",)),
    "harness": (
        harness,
        (
            "mergecheck.harness.compare.answers.",
            "mergecheck.harness.compare.cell_identity",
            "mergecheck.harness.compare.counting_invariants",
            "mergecheck.harness.compare.invariants",
        ),
    ),
}
# Reading of case files is tested elsewhere, and decides about no answer.
LEFT_OUT = (
    "mergecheck.model.case_file",
    "mergecheck.model.json_shape",
    "mergecheck.model.storage",
    "mergecheck.harness.properties.rules",
)
SAVED = Path("tests/regress")


def main() -> None:
    """Draw the mutants, run cases and tests on them, and list the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="of the cases, and of the choice of mutants")
    parser.add_argument("--max-cases", type=int, default=60, help="random cases, each with all relations")
    parser.add_argument("--sample", type=int, help="so many mutants of each part, drawn from all")
    parser.add_argument("--scope", action="append", default=[], help="only the merges of this scope; may be repeated")
    parser.add_argument("--statements", type=int, default=60, help="of each scope, drawn by the seed")
    parser.add_argument("--pairs", type=int, help="so many pairs of tables of each statement, drawn by the seed")
    parser.add_argument("--only", default="", help="modules whose name contains this text")
    options = parser.parse_args()
    if options.scope:
        _by_scopes(options)
        return
    request_delta()  # as the tests do; a session that runs already cannot be given further classes
    request_s3a()
    for part in PARTS:
        _part(part, options)


def _by_scopes(options: argparse.Namespace) -> None:
    """Hold mutants of the reference against the row model."""
    faults, left_out = planted(_mutants("reference", options))
    killed: dict[str, str] = {}
    evaluate = MergeReference().evaluate
    for name in options.scope:
        scope = load_scope(name)
        order = Random(options.seed).sample(range(len(scope.statements)), len(scope.statements))  # noqa: S311 - an order, no secret
        chosen = Scopes((name,), options.pairs).chosen_by(options.seed)

        def is_disputed(number: int, scope: Scope = scope, chosen: Chosen = chosen) -> bool:
            try:
                stream = ScopeStream(scope, [number], reference=evaluate, chosen=chosen)
                return any(piece.disputes for piece, _ in stream.judged())
            except Exception:  # noqa: BLE001 - a mutant may raise anything; a run would end with a harness bug
                return True

        _held_against(order[: options.statements], name, faults, killed, is_disputed)
    for fault in faults:
        if fault.id not in killed:
            print(f"survived  {fault.id}\n    {fault.summary}")
    _sum_up("reference", faults, killed, left_out)


def _mutants(part: str, options: argparse.Namespace) -> list[ChangedLine]:
    random = Random(options.seed)  # noqa: S311 - a choice of mutants, no secret
    package, names = MODULES[part]
    modules = [
        m for m in modules_of(package, names) if options.only in m.__name__ and not m.__name__.startswith(LEFT_OUT)
    ]
    return one_per_line(modules, random, options.sample)


def _part(part: str, options: argparse.Namespace) -> None:
    mutants = _mutants(part, options)
    if not mutants:
        return
    tests = watch_tests(MODULES[part][0], PARTS[part])
    faults, left_out = planted(mutants)
    killed: dict[str, str] = {}
    if part == "reference":
        saved = [
            case for path in sorted(SAVED.rglob("*.jsonl")) for case in load_cases(path) if case.expect is not None
        ]
        drawn = [drawn.case for drawn in islice(samples(options.seed), options.max_cases)]
        _held_against(saved, "saved cases", faults, killed, _breaks_its_word)
        _held_against(drawn, "relations", faults, killed, _breaks_a_relation)
    for number, fault in enumerate([one for one in faults if one.id not in killed]):
        _say(f"tests: {number}, {len(killed)} of {len(faults)} killed")
        if tests.catch(fault, quick=True) or tests.catch(fault, quick=False):
            killed[fault.id] = "tests"
        else:
            print(f"survived  {fault.id}\n    {fault.summary}", flush=True)
    _sum_up(part, faults, killed, left_out)


def _sum_up(part: str, faults: Sequence[Fault], killed: Mapping[str, str], left_out: Mapping[str, int]) -> None:
    by_module: dict[str, Counter[bool]] = defaultdict(Counter)
    for fault in faults:
        by_module[fault.id.partition(":")[0]][fault.id in killed] += 1
    for module, counts in sorted(by_module.items()):
        print(f"  {module}: {counts[True]} of {counts.total()}")
    print(f"{part}: {len(killed)} of {len(faults)} killed ({len(killed) / len(faults):.0%})")
    print(f"by {dict(Counter(killed.values()))}; left out: {dict(left_out)}", flush=True)


def _held_against(
    cases: Sequence[T], name: str, faults: Iterable[Fault], killed: dict[str, str], shows: Callable[[T], bool]
) -> None:
    """Run mutants on the cases on which their function gives another answer."""
    mutants = [Mutant.of(fault) for fault in faults]
    for number, case in enumerate(cases):
        left = [mutant for mutant in mutants if mutant.fault.id not in killed]
        with watched(left) as differing:
            is_known = shows(case)
        if is_known:  # the right reference is not meant to keep it
            continue
        for mutant in left:
            if mutant.fault.id in differing:
                with mutant.switched_on():
                    if shows(case):
                        killed[mutant.fault.id] = name
        _say(f"{name}: {number + 1}, {len(killed)} killed")


def _breaks_its_word(case: Case) -> bool:
    try:
        return check_case(case, ReferenceAsEngine()).verdict is Verdict.MISMATCH
    except Exception:  # noqa: BLE001 - a mutant may raise anything; a run would end with a harness bug
        return True


def _breaks_a_relation(case: Case) -> bool:
    try:
        return check_relations(case, ReferenceAsEngine()).verdict in (Verdict.MISMATCH, Verdict.ENGINE_ERROR)
    except Exception:  # noqa: BLE001 - as above
        return True


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
