"""The formats that a case can be written in; each is a text that runs by itself."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.cli.export.delta_rs_script import delta_rs_script, delta_rs_test
from mergecheck.harness.cli.export.duckdb_script import duckdb_script, sqllogictest
from mergecheck.harness.cli.export.foreign_tests import comet_sql_test, gherkin_feature
from mergecheck.harness.cli.export.python_literals import in_docstring
from mergecheck.harness.engines.delta_rs.types import UntranslatableError
from mergecheck.harness.findings.origin import case_text
from mergecheck.harness.report.render import printable
from mergecheck.harness.report.sql_script import sql_script, sql_statements
from mergecheck.harness.variants.variant import VARIANT_SETTING
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.schema_json import contains_type
from mergecheck.model.types.data_types import VOID

if TYPE_CHECKING:
    from mergecheck.harness.findings.corpus import SavedCase
    from mergecheck.model.case import Case


class Format(Enum):
    """A format of an exported case; the value is its name in ``--format``."""

    DELTA_SQL = "delta-sql"
    """a script for Spark SQL with Delta Lake"""
    PYSPARK = "pyspark"
    """a Python script for PySpark with delta-spark"""
    DELTA_RS = "delta-rs"
    """a Python script for the package deltalake"""
    DELTA_RS_TEST = "delta-rs-test"
    """a pytest module for the tests of delta-rs, with the reference's rows"""
    DUCKDB = "duckdb"
    """a script for DuckDB"""
    PYTEST = "pytest"
    """a test module for the pytest plugin of mergecheck"""
    SQLLOGICTEST = "sqllogictest"
    """a sqllogictest for DuckDB, with the reference's rows"""
    FEATURE = "feature"
    """a Gherkin feature in the steps of Sail's tests, with the reference's rows"""
    COMET = "comet"
    """a SQL test of Comet, which compares its rows with Spark's"""


_PYSPARK_HEAD = '''"""Case {name}: a merge on Spark with Delta Lake. Run it with pyspark and delta-spark installed."""

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession

builder = (
    SparkSession.builder.master("local[2]")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.session.timeZone", "UTC")
)
spark = SparkSession.getActiveSession() or configure_spark_with_delta_pip(builder).getOrCreate()
spark.conf.set("spark.sql.variable.substitute", "false")  # a text with ${{...}} means itself

'''
_PYTEST = '''"""Case {name}. Run it with: pytest --mergecheck-engine NAME"""

CASE = (
{lines}
)


def test_merge(tmp_path, mergecheck_check):
    path = tmp_path / "case.json"
    path.write_text(CASE, encoding="utf-8")
    mergecheck_check(path)
'''


def exported(saved: SavedCase, wanted: Format) -> str:
    """Write a saved case in a format.

    Raises:
        UserInputError: the format cannot express the case; the message gives the reason.
    """
    try:
        return _written(saved, wanted)
    except UnsupportedByReferenceError as error:
        reason = error.reason
    except UntranslatableError as error:
        reason = error.reason
    except RejectedError as error:
        reason = f"a statement that must be refused ({error.error_class})"
    others = ", ".join(each.value for each in Format if each is not wanted)
    raise UserInputError(
        f"{wanted.value} cannot express case {printable(saved.case.id)}: {printable(reason)}. Other formats: {others}"
    )


def _written(saved: SavedCase, wanted: Format) -> str:
    case = saved.case
    if wanted is not Format.PYTEST and VARIANT_SETTING in case.conf:
        raise UnsupportedByReferenceError(f"the variant {case.conf[VARIANT_SETTING]}")
    match wanted:
        case Format.DELTA_SQL:
            return f"{sql_script(_on_spark(case))}\nSELECT * FROM target;\n"
        case Format.PYSPARK:
            return _pyspark(case)
        case Format.DELTA_RS:
            return delta_rs_script(case)
        case Format.DELTA_RS_TEST:
            return delta_rs_test(case)
        case Format.FEATURE:
            return gherkin_feature(_on_spark(case))
        case Format.COMET:
            return comet_sql_test(_on_spark(case))
        case Format.DUCKDB:
            return duckdb_script(case)
        case Format.SQLLOGICTEST:
            return sqllogictest(case)
        case Format.PYTEST:
            lines = "\n".join(
                f"    {line + chr(10)!r}" for line in case_text(case, saved.origin).rstrip("\n").split("\n")
            )
            return _PYTEST.format(name=in_docstring(case.id), lines=lines)


def _pyspark(case: Case) -> str:
    calls = [f"spark.sql({statement!r})" for statement in sql_statements(_on_spark(case))]
    end = ["rows = spark.table('target').collect()", "for row in rows:", "    print(row)", ""]
    return _PYSPARK_HEAD.format(name=in_docstring(case.id)) + "\n".join([*calls, *end])


def _on_spark(case: Case) -> Case:
    if contains_type(case.target.schema, VOID):
        raise UnsupportedByReferenceError("a column of type VOID in the target")
    if not case.target.schema.columns and case.target.rows:
        raise UnsupportedByReferenceError("rows without columns")
    if any(column.identity is not None for column in case.target.schema.columns):
        raise UnsupportedByReferenceError("an identity column, whose values a script cannot give")
    if any(column.invariant is not None for column in case.target.schema.columns):
        raise UnsupportedByReferenceError("a column invariant, for which Spark SQL has no words")
    return case
