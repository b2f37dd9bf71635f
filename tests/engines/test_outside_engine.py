"""An engine outside the packages: written by ``new-engine``, run by path and by an entry point, able to fail."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_cases import case_document

from mergecheck.harness.cli import main
from mergecheck.harness.engines.registry import engine_names, load_engine
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import UserInputError, Verdict
from mergecheck.model.case_file import parse_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENGINE = "small_merge_engine:SmallMergeEngine"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    assert main(["engine", "new", "small-merge", "--directory", "."]) == 0
    assert f"mergecheck engine conform {_ENGINE}" in capsys.readouterr().out
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("small_merge_engine", None)


def test_what_is_written_works_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {file.name for file in folder.iterdir()} >= {"pyproject.toml", "README.md", "small_merge_engine.py"}
    assert main(["engine", "conform", _ENGINE, "--json"]) == 0
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert totals["pass"] > 10
    assert totals["fail"] == totals["error"] == 0


def test_random_cases_leave_out_what_it_lacks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ARG001 - cwd
    assert main(["fuzz", "--engine", _ENGINE, "--max-cases", "60", "--seed", "1", "--floor", "0.1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verified"] > 8
    assert document["not_checked"]["metrics"] == document["verified"]


def test_a_fault_in_it_is_found_and_shrunk(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = folder / "small_merge_engine.py"
    right = module.read_text(encoding="utf-8")
    wrong = right.replace("    rows += new\n", "    rows += new[1:]\n")
    assert wrong != right
    module.write_text(wrong, encoding="utf-8")
    code = main(["fuzz", "--engine", _ENGINE, "--max-cases", "60", "--seed", "1", "--max-findings", "1", "--json"])
    assert code == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert "missing_rows" in finding["fingerprint"]
    assert main(["engine", "conform", _ENGINE]) == 1


def test_it_has_a_name_once_its_package_is_installed(folder: Path) -> None:
    site = folder / "site"
    information = site / "mergecheck_small_merge-0.1.0.dist-info"
    information.mkdir(parents=True)
    (site / "small_merge_engine.py").write_text((folder / "small_merge_engine.py").read_text("utf-8"), encoding="utf-8")
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: mergecheck-small-merge\nVersion: 0.1.0\n", "utf-8"
    )
    entry = f"[mergecheck.engines]\nsmall-merge = {_ENGINE}\n"
    (information / "entry_points.txt").write_text(entry, encoding="utf-8")
    sys.path.insert(0, str(site))
    assert "small-merge" in engine_names()
    assert load_engine("small-merge").name == "small-merge"


def test_the_engine_of_the_documentation_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/engines.md: its Python blocks, as they stand there; an empty table is filled, the rest is unsupported."""
    page = (Path(__file__).parents[2] / "docs" / "engines.md").read_text(encoding="utf-8")
    code, two_ways = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my_engine.py").write_text(code, encoding="utf-8")
    (tmp_path / "two_ways.py").write_text(two_ways, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    engine = load_engine("my_engine.py:InsertsEngine")
    sql = "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    filled = case_document(
        target={"schema": "id INT", "files": []}, source={"schema": "id INT", "rows": [[1]]}, sql=sql
    )
    (case,) = parse_cases(json.dumps(filled), name="filled", lines=False)
    assert check_case(case, engine).verdict is Verdict.AGREE
    update = {**filled, "sql": sql.replace("NOT MATCHED THEN INSERT *", "MATCHED THEN UPDATE SET *")}
    (case,) = parse_cases(json.dumps(update), name="update", lines=False)
    assert check_case(case, engine).verdict is Verdict.UNSUPPORTED
    assert main(["engine", "conform", "my_engine:InsertsEngine", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["totals"]["fail"] == 0
    (tmp_path / "filled.json").write_text(json.dumps(filled), encoding="utf-8")
    asked = ("variants", "filled.json", "--engine", "two_ways.py:TwoWaysEngine", "--json")
    assert main([*asked, "--require-path", "bulk_insert"]) == 0
    switched = json.loads(capsys.readouterr().out)
    counted = switched["variants"][0]
    assert (counted["variant"], counted["cases"]) == ("acme.bulkInsert=on", counted["equal"])
    assert int(counted["path switched"]) > 0
    assert main([*asked, "--variant", "source-batch=1", "--require-path", "bulk_insert"]) == 4


def test_versions_are_for_engines_that_have_some(folder: Path) -> None:  # noqa: ARG001 - cwd
    others = "comet, delta-rs, delta-spark, duckdb, iceberg, postgres, pyspark, sail"
    with pytest.raises(UserInputError, match=f"installed version only; others run: {others}$"):
        load_engine(f"{_ENGINE}@1.0")
    with pytest.raises(UserInputError, match="no version after duckdb@"):
        load_engine("duckdb@")
    with pytest.raises(UserInputError, match="no version of duckdb"):
        load_engine("duckdb@../../x")


def test_nothing_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "small_merge_engine.py").read_text(encoding="utf-8")
    (folder / "README.md").unlink()
    assert main(["engine", "new", "small-merge", "--directory", "."]) == 2
    assert "exists already" in capsys.readouterr().err
    assert (folder / "small_merge_engine.py").read_text(encoding="utf-8") == before
    assert not (folder / "README.md").exists()


@pytest.mark.parametrize("name", ["My Engine", "../x", "1st", "a_b", ""])
def test_bad_names_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["engine", "new", name]) == 2
    assert "is not a name" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
