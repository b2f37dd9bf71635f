"""``mergecheck cases export --format delta-sql``, run by the command ``spark-sql`` that PySpark brings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from mergecheck.harness.cli.export.formats import Format, exported
from mergecheck.harness.engines.spark.class_archive import archive_option
from mergecheck.harness.engines.spark.delta_jars import session_settings
from mergecheck.harness.engines.spark.java_home import check_java
from mergecheck.harness.engines.spark.session import JVM_FOR_SMALL_DATA, JVM_OPTIONS
from mergecheck.harness.findings.corpus import SavedCase
from mergecheck.model.case_file import parse_cases

pytestmark = pytest.mark.spark

CASE = {
    "format_version": 1,
    "id": "x'; \\",
    "target": {
        "schema": "id BIGINT, `it's\"x` STRING, v STRING",
        "rows": [[1, "a", "!touch made\n!touch made\n"], [2, "${env:HOME}", "b"]],
        "properties": {"my.key": "a'b\\\n!touch made;"},
    },
    "source": {"schema": "id BIGINT, v STRING", "rows": [[1, "q\x1b[2J\n!touch made;"]]},
    "conf": {"spark.sql.session.timeZone": "+05:00"},
    "sql": "MERGE INTO target t -- c'; \\\n;!touch made\n USING /* it's ; \n!touch made /* nested ; */ */ source s "
    "ON t.id = s.id AND r'\\' = '\\\\' AND R\"a'b\" <> 'x'\n --;\\\n!touch made\n"
    "WHEN MATCHED AND '${env:HOME}' <> \"it's\\\";\n!touch made;\n-- c\n\" "
    "THEN UPDATE SET v = s.v, `it's\"x`=concat(s.v, r'\\\u202e;')",
}
ROWS = [
    {"id": 1, "it's\"x": "q\x1b[2J\n!touch made;\\\u202e;", "v": "q\x1b[2J\n!touch made;"},
    {"id": 2, "it's\"x": "${env:HOME}", "v": "b"},
]


def test_spark_sql_runs_a_hostile_case_and_nothing_else(tmp_path: Path) -> None:
    """Texts, comments and names of the case are neither commands nor variables; the rows are right."""
    (case,) = parse_cases(json.dumps(CASE), name="test", lines=False)
    script = exported(SavedCase(case=case, path=Path("case.json")), Format.DELTA_SQL)
    as_json = "SELECT to_json(struct(*)) FROM target ORDER BY id;\n"
    (tmp_path / "case.sql").write_text(script.replace("SELECT * FROM target;\n", as_json), encoding="utf-8")
    home = Path(pyspark.__file__).parent
    java = f"{JVM_FOR_SMALL_DATA[JVM_OPTIONS]} {archive_option(check_java())}".rstrip()
    settings = {**JVM_FOR_SMALL_DATA, JVM_OPTIONS: java, **session_settings(), "spark.ui.enabled": "false"}
    ended = subprocess.run(  # noqa: S603 - Spark's own command
        [
            str(home / "bin" / "spark-sql"),
            *("--master", "local[1]"),
            *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
            *("-f", "case.sql"),
        ],
        cwd=tmp_path,
        env=os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2_000:]
    assert [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")] == ROWS
    assert not (tmp_path / "made").exists()
