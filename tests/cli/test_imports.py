"""The imports of a command: modules are counted, since times depend on the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CASE = {
    "format_version": 1,
    "id": "one",
    "target": {"schema": "k INT, v STRING", "rows": [[1, "a"]]},
    "source": {"schema": "k INT, v STRING", "rows": [[1, "b"], [2, "c"]]},
    "sql": "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * "
    "WHEN NOT MATCHED THEN INSERT *",
}
OF_EXTRAS = {"pyspark", "py4j", "pyarrow", "pandas", "deltalake", "delta", "grpc", "obstore", "pyroaring"}
SLOW = {"duckdb", "hypothesis", "jinja2", "pytest", "sqlglot"}
MOST_FOR_HELP, MOST_FOR_A_CASE = 45, 370  # 35 and 336 on the day of writing


def modules_of(folder: Path, *arguments: str) -> list[str]:
    """Run a command in a process of its own, and list its imports at the end."""
    code = f"""
import sys
from mergecheck.harness.cli.command_line import main
code = main({list(arguments)!r})
print("\\nMODULES", code, *sys.modules)
"""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    code, *modules = done.stdout.rpartition("MODULES ")[2].split()
    assert code == "0", done.stdout + done.stderr
    return modules


def packages(modules: list[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def own(modules: list[str]) -> list[str]:
    return [module for module in modules if module.startswith("mergecheck.")]


def test_help_imports_no_library_that_loads_slowly(tmp_path: Path) -> None:
    modules = modules_of(tmp_path, "--help")
    assert packages(modules) & (OF_EXTRAS | SLOW) == set()
    assert len(own(modules)) <= MOST_FOR_HELP


def test_a_case_on_duckdb_imports_nothing_of_an_extra(tmp_path: Path) -> None:
    """Nor what draws cases and what makes pages; DuckDB imports numpy where it is installed."""
    (tmp_path / "one.json").write_text(json.dumps(CASE), encoding="utf-8")
    modules = modules_of(tmp_path, "run", "one.json", "--engine", "duckdb")
    assert packages(modules) & (OF_EXTRAS | {"hypothesis", "jinja2", "pytest"}) == set()
    assert len(own(modules)) <= MOST_FOR_A_CASE


def test_random_cases_on_duckdb_import_nothing_of_an_extra(tmp_path: Path) -> None:
    options = ("--engine", "duckdb", "--max-cases", "3", "--seed", "1", "--floor", "0")
    assert packages(modules_of(tmp_path, "fuzz", *options)) & OF_EXTRAS == set()
