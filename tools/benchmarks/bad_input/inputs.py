"""Bad inputs by number: the same seed gives the same ones."""

from __future__ import annotations

import contextlib
import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from mergecheck.harness.lab.scale.tables.shapes import SHAPES
from mergecheck.harness.lab.scale.tables.spec import make_spec
from mergecheck.harness.lab.sequences.draw import sequences
from mergecheck.harness.lab.sequences.sequence_file import dump_sequence
from tools.benchmarks.bad_input.attacks import NOWHERE, cases
from tools.benchmarks.bad_input.command_lines import bad_flags
from tools.benchmarks.bad_input.documents import damaged, damaged_text, written
from tools.benchmarks.bad_input.hostile_values import PATTERNS, TEXTS, json_value
from tools.benchmarks.bad_input.logs import damaged_table, sound_table
from tools.benchmarks.bad_input.statements import damaged_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ENGINE = ("--engine", "duckdb")
REGRESS = Path(__file__).parents[3] / "tests" / "regress"

_SETTINGS = (
    *("mergecheck.variant", "mergecheck.source", "void_columns", "duckdb.x", "spark.sql.session.timeZone"),
    *("spark.sql.shuffle.partitions", "spark.sql.ansi.enabled", "spark.sql.caseSensitive", "spark.sql.files.x"),
    *("spark.sql.storeAssignmentPolicy", "spark.databricks.delta.merge.materializeSource", "spark.sql.codegen.x"),
    *("spark.databricks.delta.write.txnVersion", "spark.databricks.delta.write.txnAppId"),
)
_PROPERTIES = (
    *("delta.enableChangeDataFeed", "delta.appendOnly", "delta.dataSkippingNumIndexedCols", "delta.isolationLevel"),
    *("delta.columnMapping.mode", "delta.constraints.c", "delta.checkpointInterval", "delta.minWriterVersion"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadInput:
    """Files, and a command line that names them by ``{folder}``.

    Attributes:
        kind: the sort of damage.
        arguments: of ``mergecheck``.
        files: their content by their path in the folder.
    """

    kind: str
    arguments: Sequence[str]
    files: Mapping[str, bytes] = field(default_factory=dict)


def bad_inputs(seed: int, *, first: int = 0) -> Iterator[BadInput]:
    """Make bad inputs without end, all kinds in turn."""
    seeds = _Seeds.loaded()
    number = first
    while True:
        chance = Random(f"{seed}/{number}")
        make = _KINDS[number % len(_KINDS)]
        yield make(seeds, chance)
        number += 1


@dataclass(frozen=True, slots=True)
class _Seeds:
    """What is damaged."""

    cases: tuple[dict[str, Any], ...]
    sequences: tuple[dict[str, Any], ...]
    specs: tuple[dict[str, Any], ...]
    table: Mapping[str, bytes]

    @classmethod
    def loaded(cls) -> _Seeds:
        saved = [
            json.loads(line)
            for path in sorted(REGRESS.rglob("*.jsonl"))
            for line in path.read_text(encoding="utf-8").split("\n")
            if line.strip()
        ]
        drawn = sequences(1, num_steps=4)
        specs = [make_spec(shape=shape.name, rows=100, files=None, seed=7).to_json() for shape in SHAPES]
        return cls(
            cases=(*saved, *cases(NOWHERE)),
            sequences=tuple(json.loads(dump_sequence(next(drawn)[1])) for _ in range(20)),
            specs=tuple(map(json.loads, specs)),
            table=sound_table(),
        )


def _case_file(seeds: _Seeds, chance: Random) -> BadInput:
    verb = chance.choice((("run", *ENGINE), ("run", *ENGINE), ("replay", *ENGINE), ("cases", "show")))
    if verb[0] == "cases" and chance.random() < 0.5:
        verb = (*verb, "--sql")
    return BadInput(
        kind="case file",
        arguments=(*verb, "{folder}/case.json"),
        files={"case.json": damaged(chance.choice(seeds.cases), chance)},
    )


def _statement(seeds: _Seeds, chance: Random) -> BadInput:
    case = copy.deepcopy(chance.choice(seeds.cases))
    case["sql"] = damaged_statement(case["sql"], chance)
    return _run("statement", case, trust=chance.random() < 0.5)


def _schema(seeds: _Seeds, chance: Random) -> BadInput:
    """Damage the other texts of SQL: schemas, defaults, generation expressions, constraints."""
    case = copy.deepcopy(chance.choice(seeds.cases))
    table = case[chance.choice([name for name in ("target", "source") if case.get(name)])]
    if chance.random() < 0.7:
        table["schema"] = damaged_statement(table["schema"], chance)
    else:
        case["target"]["properties"] = {"delta.constraints.c": damaged_statement("id > 0 AND v <> ''", chance)}
    return _run("schema", case)


def _setting(seeds: _Seeds, chance: Random) -> BadInput:
    case = copy.deepcopy(chance.choice(seeds.cases))
    if chance.random() < 0.6:
        case["conf"] = {chance.choice(_SETTINGS): chance.choice(TEXTS)}
    else:
        case["target"]["properties"] = {chance.choice(_PROPERTIES): chance.choice(TEXTS)}
    return _run("setting", case)


def _expectation(seeds: _Seeds, chance: Random) -> BadInput:
    case = copy.deepcopy(chance.choice([case for case in seeds.cases if "expect" in case]))
    text = chance.choice(PATTERNS) if chance.random() < 0.7 else json_value(chance)
    case["expect"] = {chance.choice(("error", "error", "rows", "schema", "metrics", "cdf", "unchanged")): text}
    if chance.random() < 0.5:
        case["sql"] = "MERGE INTO target t USING source s ON 1/0 = 1 OR t.nothing = " + "a" * 60 + " WHEN MATCHED"
    return _run("expectation", case)


def _run(kind: str, case: dict[str, Any], *, trust: bool = True) -> BadInput:
    """Have a case checked; a harmful text reaches only the parser that refuses it."""
    content = written(case).encode("utf-8", "surrogatepass")
    options = (*ENGINE, "--trust") if trust else ENGINE
    return BadInput(kind=kind, arguments=("run", *options, "{folder}/case.json"), files={"case.json": content})


def _sequence(seeds: _Seeds, chance: Random) -> BadInput:
    document = copy.deepcopy(chance.choice(seeds.sequences))
    for step in document["steps"]:
        if "merge" in step and chance.random() < 0.3:
            step["merge"]["sql"] = damaged_statement(step["merge"]["sql"], chance)
    return BadInput(
        kind="sequence",
        arguments=("sequences", "--engine", "delta-rs", "{folder}/sequence.json"),
        files={"sequence.json": damaged(document, chance)},
    )


def _spec(seeds: _Seeds, chance: Random) -> BadInput:
    """Damage a spec so that it is surely refused: a sound one would start Spark."""
    sound = chance.choice(seeds.specs)
    document = copy.deepcopy(sound)
    document.pop(chance.choice(list(document))) if chance.random() < 0.5 else document.update({"more": 1})
    content = damaged(document, chance)
    with contextlib.suppress(ValueError, RecursionError):
        left = json.loads(content)
        if isinstance(left, dict) and left.keys() == sound.keys():  # the damage has mended it
            content = written({**left, "more": 1}).encode("utf-8", "surrogatepass")
    return BadInput(kind="scale spec", arguments=("scale", "{folder}/spec.json"), files={"spec.json": content})


def _deviations(seeds: _Seeds, chance: Random) -> BadInput:
    text = _ENTRY
    for _ in range(chance.randint(1, 3)):
        old, new = chance.choice(_ENTRY_PARTS), chance.choice((*TEXTS, *PATTERNS))
        text = text.replace(old, json.dumps(new)[1:-1] if chance.random() < 0.7 else new, 1)
    content = text.encode("utf-8", "surrogatepass") if chance.random() < 0.6 else damaged_text(text, chance)
    case = chance.choice(seeds.cases)
    return BadInput(
        kind="deviations file",
        arguments=("run", *ENGINE, "--deviations", "{folder}/deviations.toml", "{folder}/case.json"),
        files={"deviations.toml": content, "case.json": json.dumps(case).encode()},
    )


_ENTRY = r"""
[[deviation]]
id = "of-a-user"
engine = "duckdb"
versions = ">=1.0"
when = { target_schema = 'a+', on = 'b+', settings = { "spark.sql.ansi.enabled" = "*" }, clauses = ["matched/delete"] }
difference = ["rows missing_rows", { what = "metrics P-8", each = "of 0 source rows" }]
message = '^never$'
reason = "for a test"
link = "docs/deviations.md"
review = 2027-05-31
case = "case.json"
"""
_ENTRY_PARTS = (
    *("of-a-user", "duckdb", ">=1.0", "a+", "b+", "spark.sql.ansi.enabled", "*", "matched/delete", "rows missing_rows"),
    *("metrics P-8", "of 0 source rows", "^never$", "for a test", "docs/deviations.md", "2027-05-31", "case.json"),
    *("deviation]", "target_schema", "difference", "when", "versions"),
)


def _flags(_seeds: _Seeds, chance: Random) -> BadInput:
    return BadInput(kind="flag", arguments=bad_flags(chance))


def _log(seeds: _Seeds, chance: Random) -> BadInput:
    return BadInput(
        kind="log",
        arguments=(
            *("run", *ENGINE, "--target", "{folder}/table", "--source", "{folder}/source.csv", "--sql"),
            "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v",
        ),
        files={**damaged_table(seeds.table, chance), "source.csv": b"id,v\n1,x\n"},
    )


_KINDS: tuple[Callable[[_Seeds, Random], BadInput], ...] = (
    *(_case_file, _statement, _case_file, _statement, _setting, _schema, _sequence, _statement, _case_file, _flags),
    *(_case_file, _statement, _log, _statement, _expectation, _spec, _deviations, _case_file),
)
