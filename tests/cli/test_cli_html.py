"""``--html FILE``: every verb that has it writes one whole page, and fails with one message if it cannot."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cli_cases import ECHO, FAULTY, write_case
from parsed_html import check_page

if TYPE_CHECKING:
    from cli_cases import Ended, Mergecheck
    from parsed_html import Element


def page_of(folder: Path, name: str = "report.html") -> Element:
    assert [path.name for path in folder.iterdir() if path.name.startswith(".mergecheck-")] == []
    return check_page((folder / name).read_text(encoding="utf-8"))


def headline(page: Element) -> str:
    return " ".join(page.all("h1")[0].text.split())


def test_fuzz(mergecheck: Mergecheck, folder: Path) -> None:
    """The page and the JSON document have the same figures."""
    arguments = ("fuzz", "--engine", ECHO, "--seed", "1", "--max-cases", "3", "--floor", "0", "--html", "report.html")
    ended = mergecheck(*arguments, "--json")
    page = page_of(folder)
    verified = f"{ended.json['verified']} of 3 cases verified"
    assert headline(page).startswith(f"✓ AGREE No unexplained difference on {ECHO} 1.0; {verified}")
    doubts = next(section for section in page.all("section") if section.attributes.get("id") == "doubts")
    assert f"! {len(ended.json['pairs_missing'])} blind pairs" in " ".join(doubts.text.split())
    assert "--seed 1 --max-cases 3" in page.all("h1", "dl")[1].text
    assert not page.all("svg"), "no trend of a single run"
    (folder / "runs").mkdir()
    (folder / "runs" / "first.json").write_text(ended.out)
    assert mergecheck(*arguments, "--history", "runs").code == 0
    (trend,) = (one for one in page_of(folder).all("section") if one.attributes["id"] == "trend")
    assert [row.all("th")[0].text for row in trend.all("tbody")[0].all("tr")] == ["this run", "first.json"]


def test_replay(mergecheck: Mergecheck, folder: Path) -> None:
    """Several cases: each verdict, and each mismatch in full."""
    cases = [write_case(folder / f"{name}.json", id=name) for name in ("one", "two")]
    ended = mergecheck("replay", *cases, "--engine", FAULTY, "--html", "report.html")
    page = page_of(folder)
    assert (ended.code, headline(page)) == (
        1,
        "✗ MISMATCH 2 cases differ; 0 of 2 saved cases agree on loses-null-keys 1.0.",
    )
    views = [one for one in page.all("details") if (one.attributes["class"] or "").startswith("case")]
    assert len(views) == 2
    assert all("Why the reference is right" in view.text for view in views)


def test_run_on_several_engines(mergecheck: Mergecheck, folder: Path, case_file: str) -> None:
    """Each engine in full, and who stands where."""
    engines = ("--engine", ECHO, "--engine", FAULTY)
    assert mergecheck("run", case_file, *engines, "--html", "report.html").code == 1
    page = page_of(folder)
    assert "Majority vote: parties by answer" in {caption.text for caption in page.all("caption")}
    assert "Case upsert. echo: agree; loses-null-keys: mismatch." in headline(page)


def test_matrix(mergecheck: Mergecheck, folder: Path) -> None:
    arguments = ("--engine", ECHO, "--engine", FAULTY, "--seed", "4", "--max-cases", "30", "--html", "report.html")
    ended = mergecheck("lab", "matrix", *arguments, "--json")
    page = page_of(folder)
    (table,) = (one for one in page.all("table") if one.children[0].text.startswith("Features by engines"))
    last = table.all("tr")[-1].children[1].text.split()
    assert str(ended.json["engines"][0]["totals"]["agree"]) in last
    assert "mismatch" in table.text


def test_scoreboard(mergecheck: Mergecheck, folder: Path) -> None:
    """The figures of stored runs; a cell with a difference leads to its case."""
    arguments = ("--engine", ECHO, "--engine", FAULTY, "--seed", "6", "--max-cases", "6", "--json")
    ended = mergecheck("lab", "matrix", *arguments)
    (folder / "matrix.json").write_text(ended.out, encoding="utf-8")
    fuzz = mergecheck("fuzz", "--engine", FAULTY, "--seed", "6", "--max-cases", "3", "--quiet", "--json")
    (folder / "fuzz.json").write_text(fuzz.out, encoding="utf-8")
    board = mergecheck("lab", "scoreboard", "matrix.json", "fuzz.json", "--html", "report.html", "--json")
    echo, faulty = board.json["engines"]
    assert echo["releases"][0]["totals"] == ended.json["engines"][0]["totals"]
    assert faulty["releases"][0]["totals"]["mismatch"] == (
        ended.json["engines"][1]["totals"]["mismatch"] + fuzz.json["counts"]["mismatch"]
    )
    (cause,) = faulty["causes"]
    assert cause["case_file"]["sql"].startswith("MERGE INTO")
    page = page_of(folder)
    assert {one.attributes["href"] for table in page.all("table") for one in table.all("a")} == {"#shown-1"}


def test_a_scoreboard_of_other_files(mergecheck: Mergecheck, folder: Path) -> None:
    (folder / "other.json").write_text("{}", encoding="utf-8")
    for name in ("other.json", "none.json"):
        ended = mergecheck("lab", "scoreboard", name)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith(f"error: {name} ")


def test_variants_have_the_option(mergecheck: Mergecheck) -> None:
    """The page is made in ``tests/unit/html_report``; the verb needs Spark to run."""
    ended = mergecheck("variants", "--html", "no/such/report.html", "--seed", "1")
    assert (ended.code, ended.out) == (2, "")
    assert "cannot write no/such/report.html" in ended.err


@pytest.mark.parametrize("name", ["no/such/folder/report.html", "/proc/report.html", "file/report.html", "n" * 300])
def test_a_file_that_cannot_be_written(mergecheck: Mergecheck, folder: Path, case_file: str, name: str) -> None:
    """One message and exit code 2, before the run and not after it."""
    (folder / "file").touch()
    ended = refused(mergecheck, case_file, name)
    assert ended.err.startswith(f"error: cannot write {name[:20]}")
    assert ended.err.endswith("Choose another file with --html FILE.\n")


def test_a_folder(mergecheck: Mergecheck, folder: Path, case_file: str) -> None:
    (folder / "folder").mkdir()
    assert "'folder' is a directory" in refused(mergecheck, case_file, "folder").err


def refused(mergecheck: Mergecheck, case_file: str, name: str) -> Ended:
    ended = mergecheck("run", case_file, "--engine", ECHO, "--html", name)
    assert (ended.code, ended.out) == (2, "")
    return ended


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")  # noqa: PTH110 - a device
def test_a_full_disk(mergecheck: Mergecheck, case_file: str) -> None:
    """The verdict is printed; then one message."""
    ended = mergecheck("run", case_file, "--engine", ECHO, "--html", "/dev/full", "--json")
    assert (ended.code, ended.json["verdict"]) == (2, "agree")
    assert "cannot write /dev/full: [Errno 28]" in ended.err


def test_an_existing_page_is_replaced(mergecheck: Mergecheck, folder: Path, case_file: str) -> None:
    """Through a link, too; the link stays."""
    (folder / "real.html").write_text("<!DOCTYPE html>old", encoding="utf-8")
    (folder / "report.html").symlink_to("real.html")
    assert mergecheck("run", case_file, "--engine", ECHO, "--html", "report.html").code == 0
    assert (folder / "report.html").is_symlink()
    assert headline(page_of(folder, "real.html")) == "✓ AGREE Case upsert. echo: agree."


@pytest.mark.parametrize("is_link", [False, True])
def test_a_file_that_is_no_page_is_kept(mergecheck: Mergecheck, folder: Path, case_file: str, *, is_link: bool) -> None:
    """A name typed wrong costs nothing of the user's: here the case itself."""
    given, name = Path(case_file).read_text(encoding="utf-8"), case_file
    if is_link:
        name = "report.html"
        (folder / name).symlink_to(case_file)
    ended = mergecheck("run", case_file, "--engine", ECHO, "--html", name)
    assert (ended.code, ended.out) == (2, "")
    assert f"cannot write {name}: it is there with other content, which would be lost. Choose another" in ended.err
    assert Path(case_file).read_text(encoding="utf-8") == given


@pytest.mark.parametrize(
    "command",
    [
        ("fuzz", "--engine", ECHO, "--max-cases", "1", "--events", "mine.json"),
        ("fuzz", "--engine", ECHO, "--max-cases", "1", "--observations", "mine.json"),
        ("config", "ci", "report", "result.json", "--junit", "mine.json"),
        ("engine", "conform", ECHO, "--learned", "mine.json"),
        ("lab", "matrix", "--engine", ECHO, "--engine", "duckdb", "--markdown", "mine.json"),
    ],
)
def test_no_other_file_of_results_replaces_a_case(
    mergecheck: Mergecheck, folder: Path, case_file: str, command: tuple[str, ...]
) -> None:
    """Whatever the option, before anything runs."""
    (folder / "result.json").write_text(mergecheck("run", case_file, "--engine", ECHO, "--json").out, encoding="utf-8")
    given = Path(case_file).read_text(encoding="utf-8")
    (folder / "mine.json").write_text(given, encoding="utf-8")
    ended = mergecheck(*command)
    assert ended.code == 2
    assert "mine.json: it is there with other content" in ended.err
    assert (folder / "mine.json").read_text(encoding="utf-8") == given


def test_a_hostile_case(mergecheck: Mergecheck, folder: Path) -> None:
    """From a file, as a stranger may send it."""
    text = "</script><script>alert(1)</script>\u202e\x00"
    rows = [[1, text]]
    name = write_case(
        folder / "case.json",
        id=f"<b>{text}",
        target={"schema": "id BIGINT, `<i>v` STRING", "files": [[[1, text], [None, text]]]},
        source={"schema": "id BIGINT, `<i>v` STRING", "rows": rows},
    )
    assert json.loads((folder / name).read_text())["source"]["rows"] == rows
    mergecheck("run", name, "--engine", FAULTY, "--html", "report.html")
    assert "\\u202e\\u0000" in page_of(folder).text
