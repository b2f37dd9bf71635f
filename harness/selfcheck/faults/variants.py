"""Faults that a merge shows under one configuration or layout only: what ``mergecheck variants`` is there for.

Where the base stands each of them answers right, so that no reference finds it there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from mergecheck.harness.selfcheck.fault import Area, Edit, Fault, in_workers
from mergecheck.harness.selfcheck.worker_faults import write_first_batch
from mergecheck.merge import command
from mergecheck.merge.executors import classic, first_scan, insert_only
from mergecheck.merge.executors.run import is_matched_only
from mergecheck.merge.table.reading import scan
from mergecheck.merge.table.reading.scan import ROW_INDEX
from mergecheck.merge.table.writing import write as writing
from mergecheck.merge.table.writing.rows import RowAction
from mergecheck.reference.case.model import CDF_PROPERTY, Case, Source, Target
from mergecheck.reference.types.ddl import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BATCH_SIZE = "spark.sql.parquet.columnarReaderBatchSize"


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantFault:
    """A fault, and how it is to be found.

    Attributes:
        case: the name of a case of ``CASES`` that shows it.
        variant: one that shows it on that case, with axes besides that have nothing to do with it.
        axes: of which one has to be named.
    """

    fault: Fault
    case: str
    variant: str
    axes: frozenset[str]


def _setting(name: str, default: str) -> str:
    return SparkSession.active().conf.get(name, default) or default


def _kept_where_broadcast(right: Any) -> Callable[..., Any]:
    def kept(run: Any, source: Any, files: Any) -> Any:
        is_broadcast = _setting("spark.sql.autoBroadcastJoinThreshold", "-1") != "-1"
        return source if is_broadcast else right(run, source, files)

    return kept


def _without_last_file(right: Any) -> Callable[..., Any]:
    def touched(*args: Any, **how: Any) -> Any:
        found = right(*args, **how)
        if _setting("spark.sql.shuffle.partitions", "200") == "1":
            return found
        return replace(found, files=found.files[:-1])

    return touched


def _copies_only_gathered(right: Any) -> Callable[..., Any]:
    def task(self: Any, **how: Any) -> Any:
        made = right(self, **how)
        if self.repartition:
            return made
        copies = int(RowAction.COPY)
        return replace(made, routes={**made.routes, copies: replace(made.routes[copies], table=False)})

    return task


def _without_nulls(right: Any) -> Callable[..., Any]:
    def prepared(source: Any, merge: Any, reason: Any, **how: Any) -> Any:
        found = right(source, merge, reason, **how)
        return replace(found, frame=found.frame.na.drop()) if reason.materializes else found

    return prepared


def _adaptive_right_outer(right: Any) -> Callable[..., Any]:
    def chosen(run: Any) -> str:
        return "right_outer" if _setting("spark.sql.adaptive.enabled", "true") == "true" else str(right(run))

    return chosen


def _inner_where_unoptimised(right: Any) -> Callable[..., Any]:
    def chosen(run: Any) -> str:
        is_slow = is_matched_only(run.merge) and not run.conf.optimize_matched_only_merge
        return "inner" if is_slow else str(right(run))

    return chosen


def _one_value_for_all(right: Any) -> Callable[..., Any]:
    return lambda snapshot, files, position: right(snapshot, list(files)[:1], position)


def _values_of_eight(right: Any) -> Callable[..., Any]:
    return lambda spark, snapshot, files: right(spark, snapshot, list(files)[: scan.MAX_INLINE_FILES])


def _index_in_batch(right: Any) -> Callable[..., Any]:
    def scanned(*args: Any, **how: Any) -> Any:
        frame = right(*args, **how)
        size = _setting(_BATCH_SIZE, "4096")
        columns = [f"{ROW_INDEX} % {size} AS {ROW_INDEX}" if name == ROW_INDEX else name for name in frame.columns]
        return frame.selectExpr(*columns)

    return scanned


_SCHEMA = parse_schema("id INT, p INT, v STRING")
_FILES = (
    ((1, 1, "a"), (2, 1, "b"), (3, 2, "c"), (4, 2, None), (5, 3, "e")),
    ((6, 3, "f"), (7, 4, "g"), (8, 4, "h"), (9, None, "i"), (None, 5, "j")),
)
_ROWS = ((1, 1, "x"), (2, 7, None), (6, 3, "y"), (20, 1, "new"), (None, 1, "null"))
_HEAD = "MERGE INTO target t USING source s ON t.id = s.id"
_MATCHED = "WHEN MATCHED AND s.v IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v"
_UPSERT = f"{_HEAD} {_MATCHED} WHEN NOT MATCHED THEN INSERT *"


def _case(name: str, sql: str, *, partition_by: tuple[str, ...] = ()) -> Case:
    target = Target(schema=_SCHEMA, files=_FILES, partition_by=partition_by, properties={CDF_PROPERTY: "true"})
    return Case(id=name, target=target, source=Source(schema=_SCHEMA, rows=_ROWS), sql=sql)


CASES: Mapping[str, Case] = {
    case.id: case
    for case in (
        _case("upsert", _UPSERT),
        _case("insert-only", f"{_HEAD} WHEN NOT MATCHED THEN INSERT *"),
        _case("matched-only", f"{_HEAD} {_MATCHED}"),
        # the last clause never fires, but lets every file be rewritten
        _case("partitioned", f"{_UPSERT} WHEN NOT MATCHED BY SOURCE AND t.id > 90 THEN DELETE", partition_by=("p",)),
    )
}


def _planted(
    name: str, sentence: str, edit: Edit, *, case: str, variant: str, axes: set[str], rules: tuple[str, ...]
) -> VariantFault:
    fault = Fault(name=name, area=Area.MATCHING, sentence=sentence, rules=rules, edits=(edit,), origin="techniques T4")
    return VariantFault(fault=fault, case=case, variant=variant, axes=frozenset(axes))


VARIANT_FAULTS: tuple[VariantFault, ...] = (
    _planted(
        "broadcast-keeps-matches",
        "where the source may be broadcast, path A inserts rows that match",
        Edit(insert_only, "without_matches", _kept_where_broadcast, comparable=False),
        case="insert-only",
        variant="codegen=expressions,join=broadcast,row-groups=2",
        axes={"join"},
        rules=("R-424",),
    ),
    _planted(
        "shuffle-loses-a-file",
        "with several tasks per shuffle the last touched file is forgotten",
        Edit(classic, "touched_files", _without_last_file, comparable=False),
        case="upsert",
        variant="partitions=2,statistics=none,arrow-batch=3",
        axes={"partitions"},
        rules=("R-410",),
    ),
    _planted(
        "ungathered-copies-lost",
        "copied rows are lost where rows are not gathered before the write",
        Edit(writing.TableWriter, "task", _copies_only_gathered, comparable=False),
        case="upsert",
        variant="repartition=off,row-groups=1,source-batch=2",
        axes={"repartition", "optimize-write"},
        rules=("R-425", "R-412"),
    ),
    _planted(
        "materialised-without-nulls",
        "a materialised source loses the rows that hold a NULL",
        Edit(command, "prepare_source", _without_nulls, comparable=False),
        case="upsert",
        variant="materialize=all,records-per-file=1,statistics=counts",
        axes={"materialize", "source"},
        rules=("R-451",),
    ),
    _planted(
        "second-batch-lost",
        "the writer takes the first batch of a task and no other",
        in_workers(writing.TableWriter, "write", "write_partition", write_first_batch),
        case="upsert",
        variant="arrow-batch=2,statistics=alternate,spill=early",
        axes={"arrow-batch"},
        rules=("R-412",),
    ),
    _planted(
        "adaptive-right-outer",
        "under adaptive execution the second scan forgets the source rows without a match",
        Edit(classic, "rewriting_join_type", _adaptive_right_outer, comparable=False),
        case="upsert",
        variant="aqe=on,row-groups=3,source-batch=1",
        axes={"aqe"},
        rules=("R-404",),
    ),
    _planted(
        "one-partition-value",
        "every row has the partition value of the first file",
        Edit(scan, "_inline_partition_value", _one_value_for_all, comparable=False),
        case="matched-only",
        variant="partitioned=by-column,arrow-batch=7,statistics=none",
        axes={"partitioned"},
        rules=("R-412",),
    ),
    _planted(
        "unoptimised-matched-only-inner",
        "a matched-only merge without its optimisation drops the rows to copy",
        Edit(classic, "rewriting_join_type", _inner_where_unoptimised, comparable=False),
        case="matched-only",
        variant="matched-only=off,source-batch=3,codegen=expressions",
        axes={"matched-only"},
        rules=("R-404", "R-412"),
    ),
    _planted(
        "values-of-eight-files",
        "of more files than stand in the query, the ninth and later ones lose their partition values",
        Edit(scan, "_partition_relation", _values_of_eight, comparable=False),
        case="partitioned",
        variant="files=per-row,arrow-batch=3,source-batch=2",
        axes={"files"},
        rules=("R-412",),
    ),
    _planted(
        "row-index-in-batch",
        "the first scan counts rows from each batch of the reader, so that rows are taken for one another",
        Edit(first_scan, "scan_files", _index_in_batch, comparable=False),
        case="upsert",
        variant="reader=batches of 1,statistics=none,source-batch=2",
        axes={"reader"},
        rules=("R-320",),
    ),
)
