"""A script for ``spark-sql``: that command cuts it into the statements, and they mean the same to Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.report.sql_script import for_spark_sql, sql_script, sql_statements
from mergecheck.model.case_file import case_from_json
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.merge_reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case

SCHEMA = "id BIGINT, v STRING"
HEAD = "MERGE INTO target t USING source s ON t.id = s.id"
HOSTILE = [
    rf"{HEAD} AND r'\' <> 'a' WHEN MATCHED THEN UPDATE SET v = ';" + "\n!touch pwned;\n'",
    rf'{HEAD} AND R"\" <> "it\'s" WHEN MATCHED THEN UPDATE SET v = R"a\nb"',
    f"{HEAD} -- it's; \\\n!touch pwned;\n /* ' ; /* \n!touch pwned */ ; */ WHEN MATCHED THEN UPDATE SET v = 'x'",
    f"{HEAD} --\r WHEN MATCHED THEN UPDATE SET v = '\n--; \n!touch pwned;\n'",
    f"{HEAD} WHEN MATCHED THEN UPDATE SET v = '${{env:HOME}}' || \"$\\{{env:HOME}}\" || '\\${{env:HOME}}'",
    f"{HEAD} WHEN MATCHED THEN UPDATE SET v = 'a''b;' || r'a''b;' || 'a' 'b' || \"a\"\"'\"",
    f"{HEAD} WHEN MATCHED THEN UPDATE SET v = 'a\\\x1b\u2028\u202e\\%\\_\\\\\\\n\0\\0é😀'",
    f"{HEAD} WHEN MATCHED THEN UPDATE SET v = '\n;\r\n\\';' ;",
    f"/* ! */ -- source /etc/passwd\n{HEAD} WHEN MATCHED THEN DELETE;;",
    f"{HEAD} WHEN MATCHED AND 1 = 2 -- -1\n- -1 THEN DELETE",
]


def case_of(sql: str, **changes: Any) -> Case:
    table = {"schema": SCHEMA, "rows": [[1, "';\n!touch pwned"], [2, "${env:HOME}"], [3, "\\"]]}
    document = {"format_version": 1, "id": "x'; \\", "target": table, "source": table, "sql": sql, **changes}
    return case_from_json(document, where="test")


def cut_like_spark_sql(script: str) -> Iterator[str]:
    """Cut a script as ``spark-sql -f`` does: it knows quotes, backslashes and comments, but no backticks."""
    text = "".join(line + "\n" for line in script.splitlines() if not line.startswith("--"))
    quote, depth, in_line, escaped, start, at = "", 0, False, False, 0, 0
    while at < len(text):
        c, two = text[at], text[at : at + 2]
        in_comment = in_line or depth > 0
        if c in "'\"" and not in_comment and not escaped and quote in ("", c):
            quote = "" if quote else c
        elif two == "--" and not quote and not in_comment:
            in_line = True
        elif c == "\n" and not escaped:
            in_line = False
        elif c == "/" and not in_line and not quote:
            if depth and text[at - 1] == "*":
                depth -= 1
            elif two == "/*":
                depth += 1
        elif c == ";" and not quote and not in_comment:
            yield text[start:at].strip()
            start = at + 1
        escaped = c == "\\" and not escaped
        at += 1
    if text[start:].strip():
        yield text[start:].strip()


def test_the_reader_of_these_tests_is_misled_by_a_raw_string() -> None:
    """It is the fault that scripts had."""
    assert list(cut_like_spark_sql("SELECT r'\\' || ';\n!touch pwned;\n';\n"))[1].startswith("!touch")


@pytest.mark.parametrize("sql", HOSTILE)
def test_each_statement_is_cut_as_it_is_written(sql: str) -> None:
    """No text becomes a statement, and no line has control characters."""
    case = case_of(sql)
    script = sql_script(case)
    assert list(cut_like_spark_sql(script)) == [
        statement.removesuffix(";") for statement in script.partition("\n")[2].split(";\n")
    ]
    assert [text.split()[0] for text in cut_like_spark_sql(script)] == ["CREATE", "INSERT", "CREATE", "MERGE"]
    assert "${" not in script
    assert all(line.isprintable() for line in script.split("\n"))


@pytest.mark.parametrize("sql", HOSTILE)
def test_the_statement_means_the_same(sql: str) -> None:
    before = MergeReference().evaluate(case_of(sql)).answer
    after = MergeReference().evaluate(case_of(for_spark_sql(sql))).answer
    assert type(before) is type(after)
    assert before == after


@pytest.mark.parametrize("name", ["it's", 'a"b', "x'\"", "a'b'c\"", "a';'b", "a'--'", "\\'a\\\\'"])
def test_a_quote_in_a_name_is_closed_behind_it(name: str) -> None:
    """Spark sees a comment there."""
    schema = f"id BIGINT, `{name}` STRING"
    table = {"schema": schema, "rows": [[1, ";\n!touch pwned"]]}
    sql = f"{HEAD} WHEN MATCHED AND t.`{name}`>'' THEN UPDATE SET `{name}`=s.`{name}`||';'"
    case = case_of(sql, target=table, source=table)
    texts = list(cut_like_spark_sql(sql_script(case)))
    assert [text.split()[0] for text in texts] == ["CREATE", "INSERT", "CREATE", "MERGE"]
    plain = replace(case, sql=for_spark_sql(sql))
    assert MergeReference().evaluate(plain).answer == MergeReference().evaluate(case).answer


@pytest.mark.parametrize("name", ["a;b", "a--b", "a/*b", "a*/b", "${a}", "a\nb", "a\u202eb"])
def test_a_name_that_cannot_be_written_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedByReferenceError, match="in the name"):
        for_spark_sql(f"{HEAD} WHEN MATCHED THEN UPDATE SET `{name}` = 1")


@pytest.mark.parametrize("sql", ["!touch pwned", "source /etc/passwd", "SET a = b", "`MERGE` INTO t"])
def test_what_is_no_merge_is_refused(sql: str) -> None:
    with pytest.raises(RejectedError):
        sql_script(case_of(sql))


def test_several_statements_are_refused() -> None:
    with pytest.raises(UnsupportedByReferenceError, match="semicolon"):
        for_spark_sql("MERGE INTO target; DROP TABLE target")


def test_settings_that_change_the_reading_are_refused() -> None:
    case = case_of(HOSTILE[0], conf={"spark.sql.parser.escapedStringLiterals": "true"})
    with pytest.raises(UnsupportedByReferenceError, match="escapedStringLiterals"):
        sql_statements(case)
