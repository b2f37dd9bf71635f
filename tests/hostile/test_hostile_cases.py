"""Cases from strangers: a text not shown harmless is refused before any engine runs; nothing is touched or read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.configuration.trust.functions import FUNCTIONS
from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import case_from_json, parse_cases
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from tools.benchmarks.bad_input.attacks import CANARY, CANARY_VARIABLE, NOWHERE, Place, cases, mutated

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN_COMMANDS = {"echo 1000", "echo $$"}  # by which Hadoop and Spark look for bash and for their process
MERGECHECK = str(Path(sys.executable).with_name("mergecheck"))
HARMLESS = {
    "format_version": 1,
    "id": "harmless",
    "target": {"schema": "id INT, v STRING", "rows": [[1, "a"]]},
    "source": {"schema": "id INT, v STRING", "rows": [[1, "x"]]},
    "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = '${env:HOME}'",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(str(tmp_path / "victim"), str(tmp_path / "secret.txt"), str(tmp_path / "made-by-a-command"))
    write_deltalake(place.table, pa.table({"id": [1], "v": [CANARY]}))
    Path(place.file).write_text(f"{CANARY}\n")
    return place


def refused(document: dict[str, Any]) -> str | None:
    """Give the message by which a case is refused; None if it may run."""
    try:
        require_harmless(case_from_json(document, where="file"), "file")
    except (UserInputError, CaseFormatError) as error:
        return str(error)
    return None


def test_every_attack_is_refused_in_one_line(place: Place) -> None:
    """Relations, functions and settings beyond the case, in every place of a case; the message shows no raw control."""
    found = list(cases(place))
    messages = [refused(document) for document in found]
    assert [document for document, message in zip(found, messages, strict=True) if message is None] == []
    assert all(message and message.isprintable() and len(message) < 2_000 for message in messages)
    assert len(found) > 250


def test_mutations_that_pass_read_and_call_nothing() -> None:
    """A mutation may hide an attack in a comment, or make names of columns of it. Most are refused."""
    passed = [document["sql"] for document in mutated(NOWHERE) if refused(document) is None]
    assert 0 < len(passed) < 40
    for sql in passed:
        plain = without_strings_and_comments(sql).lower()
        assert not any(word in plain for word in ("java_method", "reflect", "transform", "text.", "delta.", "read_"))


def without_strings_and_comments(sql: str) -> str:
    """Blank all but code and names, by a reading of its own: character by character."""
    code, at, depth = "", 0, 0
    while at < len(sql):
        if sql.startswith("/*", at) and not (depth == 0 and sql.startswith("/*+", at)):
            depth, at = depth + 1, at + 2
        elif depth and sql.startswith("*/", at):
            depth, at = depth - 1, at + 2
        elif depth:
            at += 1
        elif sql.startswith("--", at):
            at = min((i for i in (sql.find("\n", at), sql.find("\r", at)) if i >= 0), default=len(sql))
        elif sql[at] in "'\"":
            end = at + 1
            while end < len(sql) and sql[end] != sql[at]:
                end += 2 if sql[end] == "\\" else 1
            at = end + 1
        else:
            code, at = code + sql[at], at + 1
    return code


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM source PIVOT (max(reflect('a', 'b')) FOR v IN (1))",
        "SELECT * FROM source PIVOT (max(v) FOR v IN (reflect('a', 'b') AS x))",
        "SELECT * FROM source PIVOT (max(v) FOR (id, session_user) IN ((1, 2)))",
        "SELECT * FROM source PIVOT (max(v) FOR current_user IN (1))",
        "SELECT * FROM source UNPIVOT (x FOR n IN (current_user))",
        "SELECT * FROM source UNPIVOT ((x, y) FOR n IN ((id, current_user)))",
        "SELECT * FROM source QUALIFY reflect('a', 'b') = 1",
        "SELECT * FROM source TABLESAMPLE (reflect('a', 'b') ROWS)",
        "SELECT * FROM text.`/a` TABLESAMPLE (1 ROWS)",
        "SELECT * FROM text.`/a` PIVOT (max(value) FOR value IN (1))",
        "SELECT * FROM source JOIN text.`/a` UNPIVOT (x FOR n IN (value))",
        "SELECT * FROM source QUALIFY (SELECT max(value) FROM text.`/a`) = 1",
        "SELECT mask(v, lowerChar => reflect('a', 'b')) FROM source",
        "SELECT listagg(v) WITHIN GROUP (ORDER BY reflect('a', 'b')) FROM source",
        "SELECT sum(id) OVER (ORDER BY id RANGE reflect('a', 'b') PRECEDING) FROM source",
        "SELECT stack(1, reflect('a', 'b')) AS (a, b) FROM source",
        "SELECT * FROM source LATERAL VIEW reflect('a', 'b') AS c",
    ],
)
def test_no_clause_of_a_query_hides_anything(query: str) -> None:
    """Functions and tables are found wherever a query may have them."""
    sql = f"MERGE INTO target t USING ({query}) s ON TRUE WHEN MATCHED THEN DELETE"
    said = refused({**HARMLESS, "sql": sql})
    assert said is not None
    assert "calls" in said or "reads text" in said


def test_the_list_of_functions_calls_no_code_and_reads_no_file() -> None:
    """The list has all that its title promises, and the forms that people write."""
    assert not FUNCTIONS & {"reflect", "java_method", "try_reflect", "input_file_name", "from_avro", "xpath"}
    assert {"coalesce", "row_number", "md5", "current_timestamp", "from_json", "uuid", "transform"} <= FUNCTIONS


OF_TARGET = {"target": {"schema": "id INT, user STRING", "rows": []}}
OF_SOURCE = {"source": {"schema": "id INT, v STRING, user STRING", "rows": []}}
MATCHED = "WHEN MATCHED THEN UPDATE SET v = {}"


@pytest.mark.parametrize(
    ("tables", "merge"),
    [
        (OF_TARGET, "USING source s ON user = s.v WHEN MATCHED THEN DELETE"),
        (OF_TARGET, "USING source s ON t.id = s.id WHEN NOT MATCHED BY SOURCE AND user = 'x' THEN DELETE"),
        (OF_TARGET, "USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET user = USER"),
        (OF_SOURCE, "USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = `user`"),
        (OF_SOURCE, "USING source s ON t.id = s.id WHEN NOT MATCHED AND user = 'x' THEN INSERT (v) VALUES (user)"),
        (OF_SOURCE, "USING (SELECT * FROM source) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = user"),
        (OF_SOURCE, "USING (SELECT id, user FROM source) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = user"),
        (OF_SOURCE, "USING (SELECT id, x.user FROM source x) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = user"),
        ({}, "USING (SELECT id, v AS user FROM source) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = user"),
        ({}, "USING source AS s(id, user) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = user"),
        ({}, "USING (SELECT user FROM (SELECT v AS user FROM source)) s ON TRUE WHEN MATCHED THEN DELETE"),
        (OF_SOURCE, "USING (SELECT user FROM source x JOIN target y ON user = y.v) s ON TRUE WHEN MATCHED THEN DELETE"),
        (
            OF_SOURCE,
            "USING (SELECT id FROM source WHERE user = 'a' GROUP BY id, user) s ON TRUE WHEN MATCHED THEN DELETE",
        ),
        ({}, "USING (WITH a AS (SELECT v AS user FROM source) SELECT user FROM a) s ON TRUE WHEN MATCHED THEN DELETE"),
        ({}, "USING (WITH a(user) AS (SELECT v FROM source) SELECT user FROM a) s ON TRUE WHEN MATCHED THEN DELETE"),
        ({}, "USING source user ON t.id = s.user WHEN MATCHED THEN DELETE"),
        (OF_SOURCE, "USING (FROM source SELECT user) s ON TRUE WHEN MATCHED THEN DELETE"),
    ],
)
def test_columns_may_be_called_like_functions(tables: dict[str, Any], merge: str) -> None:
    """A column ``user`` is a column where it is visible."""
    assert refused({**HARMLESS, **tables, "sql": f"MERGE INTO target t {merge}"}) is None


@pytest.mark.parametrize("word", ["user", "session_user", "current_user", "`User`", "current_schema"])
@pytest.mark.parametrize(
    ("tables", "merge"),
    [
        ((), "USING source s ON {} = s.v WHEN MATCHED THEN DELETE"),
        (("source",), "USING (SELECT id, v FROM source) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = {}"),
        (("source",), "USING (SELECT id, v FROM source) s ON {} = 'x' WHEN MATCHED THEN DELETE"),
        (("source",), "USING source s ON t.id = s.id WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = {}"),
        (("target",), "USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (v) VALUES ({})"),
        (("target",), "USING source s ON t.id = s.id WHEN NOT MATCHED AND {} = 'x' THEN INSERT *"),
        (("target",), "USING (SELECT {} AS v, id FROM source) s ON t.id = s.id WHEN MATCHED THEN DELETE"),
        (("source",), "USING source s ON s.id IN (SELECT id FROM target WHERE {} = v) WHEN MATCHED THEN DELETE"),
        (("source",), "USING source s ON EXISTS (SELECT {} FROM target) WHEN MATCHED THEN DELETE"),
        (("source",), "USING (SELECT id FROM source ORDER BY {}) s ON TRUE WHEN MATCHED THEN DELETE"),
        (
            ("source",),
            "USING (SELECT id FROM source GROUP BY id HAVING max({}) = 'x') s ON TRUE WHEN MATCHED THEN DELETE",
        ),
        (("source",), "USING source AS s(a, b, c) ON t.id = s.a WHEN MATCHED THEN UPDATE SET v = {}"),
        (("source",), "USING (SELECT * EXCEPT ({0}) FROM source) s ON TRUE WHEN MATCHED THEN UPDATE SET v = {0}"),
        (
            ("source",),
            "USING (SELECT {} FROM target LEFT ANTI JOIN source x ON TRUE) s ON TRUE WHEN MATCHED THEN DELETE",
        ),
        (("source",), "USING (SELECT {} FROM (VALUES (1)) JOIN LATERAL (SELECT 1)) s ON TRUE WHEN MATCHED THEN DELETE"),
        (("source",), "USING (SELECT x FROM source, LATERAL (SELECT {} AS x)) s ON TRUE WHEN MATCHED THEN DELETE"),
        (("source",), "USING (SELECT x FROM source, explode(array({})) AS e(x)) s ON TRUE WHEN MATCHED THEN DELETE"),
        (
            ("source",),
            "USING (WITH source AS (SELECT 1 AS id) SELECT {} FROM source) s ON TRUE WHEN MATCHED THEN DELETE",
        ),
        (
            (),
            "USING (WITH source AS (SELECT v {0} FROM source) SELECT {0} FROM source) s ON 1 WHEN MATCHED THEN DELETE",
        ),
        (("source",), "USING (VALUES ({})) s(id) ON TRUE WHEN MATCHED THEN DELETE"),
        (
            ("source",),
            "USING (SELECT max(v) OVER () AS m FROM source QUALIFY {} = 'x') s ON TRUE WHEN MATCHED THEN DELETE",
        ),
    ],
)
def test_a_column_that_is_not_visible_there_makes_no_function_of_its_name_harmless(
    word: str, tables: tuple[str, ...], merge: str
) -> None:
    """A table of the case has such a column, but not where the word stands, so Spark calls the function."""
    with_column = {"schema": f"id INT, v STRING, {word} STRING", "rows": []}
    document = (
        HARMLESS | dict.fromkeys(tables, with_column) | {"sql": f"MERGE INTO target t {merge.format(word, word)}"}
    )
    assert "not shown to be a column there" in str(refused(document)), document["sql"]


def test_no_column_is_visible_in_a_default() -> None:
    """A generation expression, an invariant and a constraint see the columns of the table, a default sees none."""
    for value in ("GENERATED ALWAYS AS (user)", "INVARIANT (user <> 'a')"):
        assert refused(HARMLESS | {"target": {"schema": f"id INT, user STRING, v STRING {value}", "rows": []}}) is None
    target = {"schema": "id INT, user STRING, v STRING DEFAULT user", "rows": []}
    assert "calls user" in str(refused(HARMLESS | {"target": target}))


def test_under_case_sensitive_names_another_spelling_is_another_name() -> None:
    document = HARMLESS | {"sql": "MERGE INTO target t USING source s ON user = s.v WHEN MATCHED THEN DELETE"}
    document["target"] = {"schema": "id INT, USER STRING", "rows": []}
    assert refused(document) is None
    assert "calls user" in str(refused(document | {"conf": {"spark.sql.caseSensitive": "true"}}))


@pytest.mark.parametrize(
    "engine",
    [
        *("duckdb", "delta-rs"),
        *(pytest.param(name, marks=pytest.mark.spark) for name in ("pyspark", "delta-spark")),
        *(pytest.param(name, marks=pytest.mark.packaging) for name in ("postgres", "sail")),
    ],
)
def test_no_engine_touches_or_reads_anything(engine: str, place: Place, tmp_path: Path) -> None:
    """All attacks, their mutations and one harmless case are replayed in a process that is watched."""
    corpus = tmp_path / "corpus.jsonl"
    documents = [*cases(place), *mutated(place), HARMLESS]
    corpus.write_text("\n".join(json.dumps(document) for document in documents) + "\n")
    commands, trap = tmp_path / ".mergecheck-commands", tmp_path / "trap.sh"  # TRANSFORM is run by bash, which reads it
    trap.write_text(f'[ -z "$BASH_EXECUTION_STRING" ] || echo "$BASH_EXECUTION_STRING" >> {commands}\n')
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    # no verdict matters here, and the cases of known deviations would run first
    command = [MERGECHECK, "replay", str(corpus), "--engine", engine, "--no-deviations"]
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        env=os.environ | {CANARY_VARIABLE: CANARY, "BASH_ENV": str(trap)},
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        output, _ = process.communicate(timeout=800)
    assert process.returncode == 2, output[-2_000:]
    assert CANARY not in output
    assert "Traceback" not in output
    assert sorted(str(path) for path in tmp_path.rglob("*") if ".mergecheck" not in str(path)) == before
    started = commands.read_text().splitlines() if commands.exists() else []
    assert [command for command in started if command not in OWN_COMMANDS] == []
    table = DeltaTable(place.table)
    assert (table.version(), table.to_pyarrow_table().to_pylist()) == (0, [{"id": 1, "v": CANARY}])
    num_run = sum(refused(document) is None for document in documents)
    judged = [line for line in output.splitlines() if line.split()[:1] in (["agree"], ["mismatch"], ["unsupported"])]
    assert num_run >= 1
    assert judged, output[-2_000:]


@pytest.mark.spark
@pytest.mark.parametrize("engine_type", [PySparkEngine, DeltaSparkEngine])
def test_sparks_own_switches_hold_for_a_trusted_case(
    engine_type: type[PySparkEngine | DeltaSparkEngine], place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reaches Spark unchecked still reads no file by its path, and no variable of the environment."""
    monkeypatch.setenv(CANARY_VARIABLE, CANARY)
    engine = engine_type(start_session())
    for old, new in (
        ("USING source", f"USING (SELECT 1 AS id, value AS v FROM text.`{place.file}`)"),
        ("'${env:HOME}'", f"(SELECT max(value) FROM text.`{place.file}`)"),
    ):
        answer = engine.run(case_from_json(HARMLESS | {"sql": HARMLESS["sql"].replace(old, new)}, where="test"))
        assert isinstance(answer, Rejection | Unsupported), new
        assert CANARY not in repr(answer)
    answer = engine.run(case_from_json(HARMLESS | {"sql": HARMLESS["sql"].replace("HOME", CANARY_VARIABLE)}, where=""))
    assert isinstance(answer, Outcome)
    assert answer.rows == ((1, f"${{env:{CANARY_VARIABLE}}}"),)
    engine.close()


def run_verb(*arguments: str, folder: Path) -> Iterator[str]:
    yield from subprocess.run(  # noqa: S603 - our own command
        [MERGECHECK, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    ).stderr.splitlines()


def test_trust_lifts_it_and_says_so(place: Place, tmp_path: Path) -> None:
    """With --trust a case of one's own runs; without it the message names the option."""
    case = tmp_path / "own.json"
    document = HARMLESS | {"sql": HARMLESS["sql"].replace("'${env:HOME}'", "current_user()")}
    case.write_text(json.dumps(document))
    assert parse_cases(case.read_text(), name="own", lines=False)
    without = list(run_verb("run", str(case), "--engine", "duckdb", folder=tmp_path))
    assert any("calls current_user()" in line and "--trust" in line for line in without)
    with_trust = list(run_verb("run", str(case), "--engine", "duckdb", "--trust", folder=tmp_path))
    assert any("without being shown harmless" in line for line in with_trust)
    assert place.file
