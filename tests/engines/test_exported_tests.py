"""``cases export`` to Sail's and Comet's tests: the files are read as they read them, here on Delta Lake itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_cases import SQL, case_document

from mergecheck.harness.cli.export.formats import Format, exported
from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.findings.corpus import SavedCase
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import case_from_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

HOSTILE = 'it\'s "x"\n  Then query error .\n\nquery\n-- ${env:HOME} né😀'
SCHEMA = "id BIGINT, d DECIMAL(5,2), f DOUBLE, b BOOLEAN, day DATE, at TIMESTAMP, v STRING"
ROW = [2, "-3.25", "-0.0", False, "0001-01-01", "1969-12-31T23:59:59.5Z", None]
CASES: dict[str, dict[str, Any]] = {
    "upsert": {},
    "types": {
        "target": {
            "schema": SCHEMA,
            "rows": [[1, "1.50", "NaN", True, "2026-01-31", "2026-01-31T23:59:59.123456Z", "a"], [2, *[None] * 6]],
        },
        "source": {"schema": SCHEMA, "rows": [ROW, [3, None, 1.5, None, None, None, ""]]},
    },
    "a setting": {
        "conf": {"spark.databricks.delta.schema.autoMerge.enabled": "true"},
        "source": {"schema": "id BIGINT, more INT", "rows": [[1, 7]]},
    },
    "rejected": {"source": {"schema": "id BIGINT, v STRING", "rows": [[1, "x"], [1, "y"]]}},
    "a hostile condition": {
        "id": HOSTILE,
        "sql": "MERGE INTO target t -- c\n\n USING source s ON t.id = s.id AND t.v <> '" + HOSTILE.replace("'", "\\'")
        + "' WHEN MATCHED THEN UPDATE SET *",
    },
}  # fmt: skip
NOT_IN_A_FEATURE = [
    {"target": {"schema": "id BIGINT, v BINARY", "rows": [[1, "AA=="]]}},
    *({"source": {"schema": "id BIGINT, v STRING", "rows": [[1, text]]}} for text in ("a|b", " a", "NULL", "a\nb")),
    {"sql": SQL.replace("t.id = s.id", 't.id = s.id AND t.v <> \'"""\'')},
    {"target": {"schema": "id BIGINT, v FLOAT", "rows": [[1, 0.100000001490116119384765625]]}},
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """Start Spark with Delta Lake, in a database of its own."""
    engine = DeltaSparkEngine()
    other = engine.fork()
    yield other.session()
    other.close()
    engine.close()


def written(wanted: Format, **changes: Any) -> str:
    case = case_from_json(case_document(**changes), where="test")
    return exported(SavedCase(case=case, path=Path("case.json")), wanted)


def feature_failures(text: str, spark: SparkSession, folder: Path) -> Iterator[str]:
    """Take the steps of a feature; yield what does not hold."""
    spark.sql("DROP TABLE IF EXISTS target")
    lines = iter(text.splitlines())
    assert (next(lines), next(lines)) == ("Feature: MERGE INTO", "")
    assert next(lines).startswith("  Scenario: ")
    query, final = "", ""
    for line in lines:
        step = line.strip()
        if step.startswith(("Given statement", "Given final statement", "When query")):
            assert next(lines) == '      """'
            sql = "\n".join(text_line[6:] for text_line in iter(lambda: next(lines), '      """'))
            if step == "When query":
                query = sql
            elif step == "Given final statement":
                final = sql
            else:
                spark.sql(sql.replace("{{ location.sql }}", f"'{folder}/target'"))
        elif step.startswith("Given config "):
            spark.conf.set(*step.removeprefix("Given config ").split(" = ", 1))
        elif step == "Then query error .":
            yield from () if fails(spark, query) else [f"{query}: no error"]
        elif step == "Then query result":
            table = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in lines]
            found = spark.sql(query)
            rows = sorted(["NULL" if cell is None else cell for cell in row] for row in found.collect())
            if [found.columns, *rows] != [table[0], *sorted(table[1:])]:
                yield f"{rows} are not {table[1:]}"
        else:
            assert step == "Given variable location for temporary directory target"
    spark.sql(final)


def comet_failures(text: str, spark: SparkSession) -> Iterator[str]:
    """Run the records of a SQL test; yield what does not hold. Its last query is compared by Comet's suite."""
    spark.sql("DROP TABLE IF EXISTS target")
    comments, *records = text.rstrip("\n").split("\n\n")
    for line in comments.splitlines():
        if line.startswith("-- Config: "):
            spark.conf.set(*line.removeprefix("-- Config: ").split("=", 1))
    for record in records:
        kind, _, sql = record.partition("\n")
        if wanted := re.fullmatch(r"query expect_error\((.+)\)", kind):
            try:
                spark.sql(sql).collect()
            except Exception as error:  # noqa: BLE001 - as the suite does
                yield from () if wanted[1] in str(error) else [f"{wanted[1]} is not in {error}"]
            else:
                yield f"{sql}: no error"
        else:
            assert kind in ("statement", "query spark_answer_only")
            spark.sql(sql)


def fails(spark: SparkSession, query: str) -> bool:
    try:
        spark.sql(query).collect()
    except Exception:  # noqa: BLE001 - any error is one
        return True
    return False


@pytest.mark.spark
@pytest.mark.parametrize("name", CASES)
def test_a_feature_holds_on_delta_lake(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """Its rows are those after the merge; without the merge they are not."""
    text = written(Format.FEATURE, **CASES[name])
    assert list(feature_failures(text, spark, tmp_path / "one")) == []
    merge = re.compile(r'    Given statement\n      """\n      MERGE.*?"""\n', re.DOTALL)
    if name in ("upsert", "types"):
        assert len(list(feature_failures(merge.sub("", text), spark, tmp_path / "other"))) == 1
    for setting in CASES[name].get("conf", {}):
        spark.conf.set(setting, "false")


@pytest.mark.spark
@pytest.mark.parametrize("name", CASES)
def test_a_comet_test_holds_on_delta_lake(name: str, spark: SparkSession) -> None:
    """Every statement runs, and a merge that must fail does, with its class."""
    text = written(Format.COMET, **CASES[name])
    assert list(comet_failures(text, spark)) == []
    if name == "rejected":
        assert list(comet_failures(text.replace("DELTA_", "OTHER_"), spark)) != []
    for setting in CASES[name].get("conf", {}):
        spark.conf.set(setting, "false")


@pytest.mark.parametrize("changes", NOT_IN_A_FEATURE)
def test_what_a_feature_cannot_hold(changes: dict[str, Any]) -> None:
    """The message names the value, and other formats."""
    with pytest.raises(UserInputError, match=r"feature cannot express case upsert: .* Other formats: .*comet"):
        written(Format.FEATURE, **changes)


@pytest.mark.parametrize("wanted", [Format.DELTA_SQL, Format.PYSPARK, Format.FEATURE, Format.COMET])
@pytest.mark.parametrize("column", ["n BIGINT GENERATED BY DEFAULT AS IDENTITY", "n INT INVARIANT (n < 10)"])
def test_what_spark_sql_has_no_words_for(wanted: Format, column: str) -> None:
    """A script with it would be refused by the parser."""
    with pytest.raises(UserInputError, match=r"cannot express case upsert: an? (identity column|column invariant)"):
        written(wanted, target={"schema": f"id BIGINT, v STRING, {column}", "rows": []})
