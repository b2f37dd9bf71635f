"""Tables beside target and source: in the file, in the limits, in the reference and in reports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.report.render import table_lines
from mergecheck.harness.report.sql_script import sql_statements
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import case_from_json, case_to_json
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.limits import MAX_CELLS, MAX_TABLES
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from mergecheck.model.case import Case

DIM = {"schema": "k INT, name STRING", "rows": [[10, "ten"], [20, "twenty"]]}
JOIN = (
    "MERGE INTO target t USING (SELECT s.id, d.name AS v FROM source s JOIN dim d ON s.k = d.k) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
SCALAR = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = (SELECT max(name) FROM dim)"
)


def document(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "format_version": 1,
        "id": "x",
        "target": {"schema": "id INT, v STRING", "rows": [[1, "a"], [2, "b"]]},
        "source": {"schema": "id INT, k INT", "rows": [[1, 10], [3, 20]]},
        "tables": {"dim": DIM},
        "sql": JOIN,
    }
    return base | changes


def case(**changes: Any) -> Case:
    return case_from_json(document(**changes), where="case")


def predicted(made: Case) -> list[tuple[Any, ...]]:
    answer = evaluate(made).answer
    assert isinstance(answer, Prediction)
    return sorted(answer.rows)


def test_a_case_with_a_table_round_trips() -> None:
    """A case without one has no key for it, so that saved cases keep their ids."""
    made = case(tables={"dim": {**DIM, "layout": {"batch_rows": 1}}, "other_2": {"schema": "x INT", "rows": []}})
    assert case_from_json(case_to_json(made), where="again") == made
    assert "tables" not in case_to_json(replace(made, tables={}))


@pytest.mark.parametrize(
    "name", ["target", "source", "Dim", "a b", "", "1st", "db.dim", "mergecheck_rows", "a" * 61, "d`", "dïm"]
)
def test_a_name_that_is_no_plain_word_is_refused(name: str) -> None:
    """The message explains what makes a name."""
    with pytest.raises(CaseFormatError, match="is no name for a table; a name has up to 60 small letters"):
        case(tables={name: DIM})


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "must be an object of tables by their names"),
        ({"dim": {"schema": "k INT"}}, "key 'rows' is missing"),
        (
            {"dim": {"schema": "k INT, c CHAR(3)", "rows": []}},
            r"tables, dim, schema: 'c' is CHAR\(3\); only target columns may be a CHAR. Write STRING",
        ),
        (
            {"dim": {"schema": "k INT, c VARCHAR(2)", "rows": [[1, "ab"], [2, "äöü"]]}},
            r"rows: c is VARCHAR\(2\), and a text has 3 characters; no table holds it",
        ),
        (
            {"dim": {"schema": "k INT, c MAP<STRING, VARCHAR(3)>", "rows": [[1, [["a", "abc"], ["b", "abcd"]]]]}},
            r"rows: c.value is VARCHAR\(3\), and a text has 4 characters; no table holds it",
        ),
        ({"dim": {"schema": "k INT, c ARRAY<CHAR(3)>", "rows": []}}, "CHAR inside of another type"),
        ({"dim": {"schema": "k INT DEFAULT 1", "rows": []}}, "only target columns may"),
        ({"dim": {"schema": "", "rows": []}}, "must have a column"),
        ({f"d{n}": DIM for n in range(MAX_TABLES + 1)}, "21 tables beside target and source"),
        ({"dim": {"schema": "k INT", "rows": [[1]] * (MAX_CELLS + 1)}}, "dim: has 100,001 cells"),
    ],
)
def test_what_is_no_table_is_refused(tables: object, message: str) -> None:
    """With the limits of target and source, for each of them."""
    with pytest.raises(CaseFormatError, match=message):
        case(tables=tables)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (JOIN, [(1, "ten"), (2, "b"), (3, "twenty")]),
        (JOIN.replace("dim d", "DIM d"), [(1, "ten"), (2, "b"), (3, "twenty")]),
        (
            "MERGE INTO target t USING dim d ON t.id * 10 = d.k WHEN MATCHED THEN UPDATE SET v = d.name",
            [(1, "ten"), (2, "twenty")],
        ),
        (
            SCALAR,
            [(1, "twenty"), (2, "b")],
        ),
        (
            (
                "MERGE INTO target t USING (WITH d AS (SELECT * FROM dim) SELECT * FROM d WHERE k > 10) s ON t.id = 2 "
                "WHEN MATCHED THEN UPDATE SET v = s.name"
            ),
            [(1, "a"), (2, "twenty")],
        ),
    ],
)
def test_the_reference_reads_tables_in_queries(sql: str, rows: list[tuple[int, str]]) -> None:
    """As source, in a source query, and in a subquery of a value."""
    assert predicted(case(sql=sql)) == rows
    require_harmless(case(sql=sql), "case")


def test_a_varchar_of_a_source_is_read_as_string() -> None:
    """As its readers see it, inside of a column, too: only a write looks at the length (R-822)."""
    nested = case(tables={"dim": {"schema": "k INT, c STRUCT<x: VARCHAR(3)>", "rows": []}})
    assert nested.tables["dim"].schema == parse_schema("k INT, c STRUCT<x: STRING>")
    dim = {"schema": "k INT, name VARCHAR(6)", "rows": [[10, "ten"], [20, "twenty"], [30, None]]}
    read = case(tables={"dim": dim})
    assert read.tables["dim"].schema.columns[1] == case().tables["dim"].schema.columns[1]
    assert predicted(read) == predicted(case())


def test_an_unknown_table_is_none() -> None:
    """For the reference; the door names the tables that there are, and no switch that would not help."""
    unknown = case(sql=JOIN.replace("dim", "dims"))
    answer = evaluate(unknown).answer
    assert isinstance(answer, Rejection)
    assert answer.error_class == "TABLE_OR_VIEW_NOT_FOUND"
    with pytest.raises(UserInputError, match=r"reads dims, .* It may read target, source, dim") as refused:
        require_harmless(unknown, "case")
    assert "--trust" not in str(refused.value)


@pytest.mark.parametrize("name", ["delta.`/secret`", "db.dim", "IDENTIFIER('a' || 'b')"])
def test_a_table_of_elsewhere_is_refused_as_before(name: str) -> None:
    """Such a table may be there, so that the message speaks of trust."""
    with pytest.raises(UserInputError, match=r"which is no table of the case.*--trust"):
        require_harmless(case(sql=JOIN.replace("JOIN dim", f"JOIN {name}")), "case")


def test_a_table_has_no_versions() -> None:
    """R-139: it is a view, as the source is."""
    answer = evaluate(case(sql=JOIN.replace("dim d", "dim VERSION AS OF 0 d"))).answer
    assert isinstance(answer, Rejection)
    assert answer.error_class == "UNSUPPORTED_FEATURE.TIME_TRAVEL"


def test_reports_show_the_table() -> None:
    """In text, and as a script."""
    lines = table_lines(case())
    assert lines[-3:] == ["dim (k INT, name STRING)", "  (10, 'ten')", "  (20, 'twenty')"]
    script = "\n".join(sql_statements(case()))
    assert "CREATE OR REPLACE TEMPORARY VIEW dim AS" in script
