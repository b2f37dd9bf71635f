"""Fixtures of the checks: fresh Delta tables, merges on them, and their log, history and events."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

from mergecheck.harness.engines.spark.session import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from delta.tables import DeltaTable
    from pyspark.sql import SparkSession

UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
STATS = "delta.dml.merge.stats"
_HIDDEN_CLASS = re.compile(r"main error class '([A-Z0-9_.]+)'")  # docs/findings/pyspark-delta-error-class.md
_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question about a rule.

    Attributes:
        rule: its number.
        question: in a few words.
        ask: asks Delta Lake; an exception becomes the error's class.
        expected: the result by the rule.
    """

    rule: str
    question: str
    ask: Callable[[Lab], object]
    expected: object


class Lab:
    """Tables and merges of one check.

    Args:
        spark: a session with Delta Lake.
        folder: where the tables are; it need not exist.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.target = folder / "target"
        self.source = folder / "source"

    def answer(self, check: Check) -> object:
        """Ask a check's question; an error is its class, or the first line of its text."""
        try:
            return check.ask(self)
        except Exception as error:  # noqa: BLE001 - the error is the answer
            return error_of(error)

    def table(
        self,
        path: Path,
        schema: str,
        *files: str,
        properties: Mapping[str, str] | None = None,
        partition_by: str | None = None,
    ) -> None:
        """Create a Delta table and insert the given VALUES, each in a commit of its own."""
        pairs = ", ".join(f"'{name}' = '{value}'" for name, value in (properties or {}).items())
        self.spark.sql(
            f"CREATE TABLE delta.`{path}` ({schema}) USING delta"
            + (f" PARTITIONED BY ({partition_by})" if partition_by else "")
            + (f" TBLPROPERTIES ({pairs})" if pairs else "")
        )
        for rows in files:
            self.spark.sql(f"INSERT INTO delta.`{path}` VALUES {rows}")

    def both(self, **options: Any) -> None:  # noqa: ANN401 - the options of `table`
        """Create a target (1, 10), (2, 20) and a source (1, 11), (3, 33) with columns id and v."""
        self.table(self.target, "id INT, v INT", "(1, 10), (2, 20)", **options)
        self.table(self.source, "id INT, v INT", "(1, 11), (3, 33)")

    def merge(self, clauses: str, *, on: str = "t.id = s.id", using: str | None = None, evolve: bool = False) -> Any:  # noqa: ANN401 - Spark's row
        """Merge by SQL, and return the command's own rows."""
        given = using or f"delta.`{self.source}`"
        evolution = " WITH SCHEMA EVOLUTION" if evolve else ""
        return self.spark.sql(
            f"MERGE{evolution} INTO delta.`{self.target}` t USING {given} s ON {on} {clauses}"
        ).collect()

    def delta_table(self) -> DeltaTable:
        """Return the target for Delta's Python builder, aliased t."""
        from delta.tables import DeltaTable  # noqa: PLC0415 - needs Spark's path

        return DeltaTable.forPath(self.spark, str(self.target)).alias("t")

    def rows(self, columns: str = "*") -> list[tuple[object, ...]]:
        """Read the target's rows in order."""
        return sorted(tuple(row) for row in self.spark.sql(f"SELECT {columns} FROM delta.`{self.target}`").collect())

    def schema(self) -> str:
        """Return names and types of the target's columns."""
        fields = self.spark.read.format("delta").load(str(self.target)).schema.fields
        return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)

    def history(self) -> dict[str, Any]:
        """Return the newest entry of the target's history."""
        return self.spark.sql(f"DESCRIBE HISTORY delta.`{self.target}` LIMIT 1").collect()[0].asDict()

    def actions(self, kind: str) -> list[dict[str, Any]]:
        """Return the actions of one kind in the target's newest commit."""
        newest = max((self.target / "_delta_log").glob("*.json"))
        lines = [json.loads(line) for line in newest.read_text().splitlines()]
        return [line[kind] for line in lines if kind in line]

    def num_commits(self) -> int:
        """Count the target's commits."""
        return len(list((self.target / "_delta_log").glob("*.json")))

    def event(self, act: Callable[[], object]) -> dict[str, Any]:
        """Return the event by which Delta closes the merge that ``act`` runs."""
        jvm: Any = self.spark.sparkContext._jvm  # noqa: SLF001 - no public way leads to Delta's events
        logger = jvm.com.databricks.spark.util.Log4jUsageLogger
        records = jvm.scala.collection.mutable.ArrayBuffer()
        getattr(logger, "usageTracker_$eq")(records)
        try:
            act()
        finally:
            getattr(logger, "usageTracker_$eq")(None)
        found = [records.apply(index) for index in range(records.size())]
        blobs = [record.blob() for record in found if str(record.tags().get("opType")) == f"Some({STATS})"]
        return dict(json.loads(blobs[-1])) if blobs else {}

    @contextmanager
    def settings(self, **values: str) -> Iterator[None]:
        """Set Delta's settings for a while, named without their prefix; two underscores stand for a dot."""
        names = {f"spark.databricks.delta.{name.replace('__', '.')}": value for name, value in values.items()}
        with settings_of(self.spark, names):
            yield


def error_of(error: Exception) -> str:
    """Name an error: the class that its text gives, or its Python type and first line."""
    text = str(error)
    found = _HIDDEN_CLASS.search(text) or _CLASS.search(text)
    if found is not None:
        return found[1]
    kind = "" if isinstance(error, Py4JError) else f"{type(error).__name__}: "
    return kind + text.strip().splitlines()[0]
