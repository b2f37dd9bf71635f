"""Cases as a stranger might write them to read or change something of ours, and their mutations."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

CANARY = "CANARY-7f3a"
CANARY_VARIABLE = "MERGECHECK_CANARY"
NUM_MUTATIONS = 800
SEED = 20261124  # the corpus is the same in every run


@dataclass(frozen=True, slots=True)
class Place:
    """The targets of an attack: a Delta table, a file beside it, and a file that a command would make."""

    table: str
    file: str
    made: str


NOWHERE = Place(table="/nowhere/table", file="/nowhere/file", made="/nowhere/made")


def relations(place: Place) -> list[str]:
    """Relations that read something else than the case's tables."""
    formats = ("text", "json", "csv", "parquet", "binaryFile", "orc", "delta", "`text`", "TEXT", "avro", "xml")
    files = [f"{name}.`{place.table if name == 'delta' else place.file}`" for name in formats]
    return [
        *files,
        f"(SELECT TRANSFORM(1) USING 'sh -c \"touch {place.made}\"' AS (id))",
        f"(FROM source MAP id USING 'touch {place.made}' AS (id))",
        f"(FROM source REDUCE id USING 'touch {place.made}' AS (id))",
        f"IDENTIFIER('text.`{place.file}`')",
        f"IDENTIFIER('delta.`' || '{place.table}`')",
        f"IDENTIFIER(concat('text.`', '{place.file}`'))",
        f"read_files('{place.file}')",
        f"read_text('{place.file}')",
        f"read_csv('{place.file}')",
        f"'{place.file}'",
        "information_schema.tables",
        "spark_catalog.default.victim",
        "default.victim",
        "victim",
        "python_worker_logs()",
        "duckdb_settings()",
        "glob('/*')",
        f"source WITH ('path' = '{place.file}')",
    ]


def values(place: Place) -> list[str]:
    """Expressions that call code, or read something else than the case's tables."""
    return [
        f"java_method('java.lang.System', 'getenv', '{CANARY_VARIABLE}')",
        f"IDENTIFIER('java_' || 'method')('java.lang.System', 'getenv', '{CANARY_VARIABLE}')",
        f"IDENTIFIER(r'java_method')('java.lang.System', 'getenv', '{CANARY_VARIABLE}')",
        f"reflect('java.lang.System', 'getenv', '{CANARY_VARIABLE}')",
        f"try_reflect('java.lang.System', 'getenv', '{CANARY_VARIABLE}')",
        f"`java_method`('java.lang.System', 'getenv', '{CANARY_VARIABLE}')",
        f"system.builtin.java_method('java.lang.System', 'getenv', '{CANARY_VARIABLE}')",
        f"builtin.reflect('java.lang.System', 'getenv', '{CANARY_VARIABLE}')",
        f"IDENTIFIER('java_method')('java.lang.System', 'getenv', '{CANARY_VARIABLE}')",
        f"coalesce(NULL, upper(java_method('java.lang.System', 'getenv', '{CANARY_VARIABLE}')))",
        f"transform(array(1), x -> java_method('java.lang.System', 'getenv', '{CANARY_VARIABLE}'))[0]",
        f"(SELECT max(value) FROM text.`{place.file}`)",
        f"(SELECT count(*) FROM delta.`{place.table}`)",
        f"(WITH a AS (SELECT 1 AS id) SELECT max(value) FROM text.`{place.file}`)",
        f"(SELECT max(value) FROM (SELECT * FROM (VALUES (1)) v CROSS JOIN text.`{place.file}`))",
        f"xpath_string('<!DOCTYPE a [<!ENTITY b SYSTEM \"file://{place.file}\">]><a>&b;</a>', 'a')",
        f"from_avro(X'00', 'x', map('avroSchemaUrl', 'file://{place.file}'))",
        f"from_protobuf(X'00', 'm', '{place.file}')",
        "input_file_name()",
        "current_user()",
        "current_user",
        "session_user()",
        "getenv('HOME')",
        f"getenv('{CANARY_VARIABLE}')",
        "pg_read_file('/etc/passwd')",
        "sleep(1000)",
    ]


def cases(place: Place) -> Iterator[dict[str, Any]]:
    """Put each attack in every place of a case that takes it."""
    for text in relations(place):
        yield _case(f"MERGE INTO target t USING {text} s ON t.id = s.id WHEN MATCHED THEN DELETE")
        yield _case(f"MERGE INTO target t USING (SELECT * FROM {text}) s ON t.id = 1 WHEN MATCHED THEN DELETE")
        yield _case(f"MERGE INTO {text} t USING source s ON TRUE WHEN MATCHED THEN DELETE")
        yield _case(f"WITH w AS (SELECT * FROM {text}) MERGE INTO target t USING w s ON TRUE WHEN MATCHED THEN DELETE")
        yield _case(
            f"MERGE INTO target t USING source s ON EXISTS (SELECT 1 FROM {text}) WHEN NOT MATCHED THEN INSERT *"
        )
    for text in values(place):
        yield _case(f"MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = {text}")
        yield _case(f"MERGE INTO target t USING source s ON {text} = s.v WHEN MATCHED THEN DELETE")
        yield _case(
            f"MERGE INTO target t USING (SELECT id, {text} AS v FROM source) s ON t.id = s.id "
            "WHEN NOT MATCHED THEN INSERT *"
        )
        yield _case(
            f"MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED AND {text} IS NULL "
            f"THEN INSERT (id, v) VALUES (s.id, {text})"
        )
        yield _case(_INSERT, schema=f"id INT, v STRING DEFAULT {text}")
        yield _case(_INSERT, schema=f"id INT, v STRING GENERATED ALWAYS AS ({text})")
        yield _case(_INSERT, schema=f"id INT, v STRING INVARIANT ({text} IS NOT NULL)")
        yield _case(_INSERT, properties={"delta.constraints.c": f"{text} IS NOT NULL"})
    for name, value in (
        ("spark.sql.runSQLOnFiles", "true"),
        ("spark.sql.variable.substitute", "true"),
        ("spark.sql.catalog.spark_catalog", "org.example.Catalog"),
        ("spark.sql.warehouse.dir", place.table),
        ("spark.hadoop.fs.file.impl", "org.example.FileSystem"),
        ("spark.sql.parser.escapedStringLiterals", "true"),
        ("spark.databricks.delta.logStore.class", "org.example.Store"),
    ):
        yield _case(_INSERT, conf={name: value})


def mutated(place: Place) -> Iterator[dict[str, Any]]:
    """Write attacks in other ways: case, quotes, comments, spaces, brackets, queries around them, one token elsewhere.

    Mutations are of attacks on ``NOWHERE``, so that those on any place are the same.
    """
    seeds = [case for case in cases(NOWHERE) if "conf" not in case and case["sql"] != _INSERT]
    chance = random.Random(SEED)
    for number in range(NUM_MUTATIONS):
        case = dict(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            case["sql"] = chance.choice(MUTATIONS)(case["sql"], chance)
        for name in ("table", "file", "made"):
            case["sql"] = case["sql"].replace(getattr(NOWHERE, name), getattr(place, name))
        yield case | {"id": f"mutation-{number}"}


_INSERT = "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"


def _case(sql: str, *, schema: str = "id INT, v STRING", **parts: Any) -> dict[str, Any]:
    target = {"schema": schema, "rows": [[1, "a"]], "properties": parts.pop("properties", {})}
    source = {"schema": "id INT, v STRING", "rows": [[1, "x"], [9, "y"]]}
    return {"format_version": 1, "id": "hostile", "target": target, "source": source, "sql": sql, **parts}


def _other_case(sql: str, chance: random.Random) -> str:
    return "".join(c.swapcase() if chance.random() < 0.5 and c.isalpha() else c for c in sql)


def _spaces(sql: str, chance: random.Random) -> str:
    return sql.replace(" ", chance.choice(["\n", "\t", "  ", "\r\n", "/**/", "/* x /* y */ */", " -- x\n"]))


def _quoted(sql: str, chance: random.Random) -> str:
    words = sql.split(" ")
    chosen = chance.randrange(len(words))
    words[chosen] = f"`{words[chosen]}`" if words[chosen].isidentifier() else words[chosen]
    return " ".join(words)


def _wrapped(sql: str, _chance: random.Random) -> str:
    return sql.replace(" USING (SELECT", " USING (SELECT * FROM (SELECT", 1).replace(") s ON", ")) s ON", 1)


def _strings(sql: str, chance: random.Random) -> str:
    return sql.replace("'", chance.choice(['"', "\\'", "r'", "''", "' '", "$$"]), chance.randint(1, 2))


def _swapped(sql: str, chance: random.Random) -> str:
    words = sql.split(" ")
    at = chance.randrange(max(1, len(words) - 1))
    if len(words) == 1:
        return sql
    words[at], words[at + 1] = words[at + 1], words[at]
    return " ".join(words)


def _commented(sql: str, chance: random.Random) -> str:
    at = chance.randrange(len(sql))
    return sql[:at] + chance.choice(["/*+ x */", "/*", "*/", "--", ";", "\x00", "'", "${env:HOME}"]) + sql[at:]


MUTATIONS = (_other_case, _spaces, _quoted, _wrapped, _strings, _swapped, _commented)
