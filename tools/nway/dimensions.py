"""The dimensions of a case: each with its values, and a function that returns the values of a case.

A case has several values of most dimensions: it has several clauses, columns and rows. A value is one thing that a
case may have, or several that occur too seldom alone (``date`` and ``timestamp``). Pairs are counted over all values.
Triples are counted over coarser ones, because three rare things hardly meet by chance, and not over all dimensions:
what some of them say is said by others too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from mergecheck.reference.syntax.statement import Kind
from tools.nway import rows, statements, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from mergecheck.harness.properties.rules.evidence import Evidence

Groups: TypeAlias = "Mapping[str, Collection[str]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One dimension.

    Attributes:
        read: returns the properties of a case.
        values: for pairs; each with its meaning.
        coarse: for triples; empty if the dimension is left out there.
    """

    name: str
    read: Callable[[Evidence], Iterable[str]]
    values: Groups
    coarse: Groups = field(default_factory=lambda: MappingProxyType({}))

    def pairs(self) -> tuple[str, ...]:
        """Return the values of pairs, as ``dimension=value``."""
        return tuple(f"{self.name}={value}" for value in self.values)

    def triples(self) -> tuple[str, ...]:
        """Return the values of triples, as ``dimension=value``."""
        return tuple(f"{self.name}={value}" for value in self.coarse)


def _each(*values: str) -> Groups:
    return {value: (value,) for value in values}


_CONDITION = _each("no condition", "TRUE", "FALSE", "NULL")
_SCALARS = {
    **_each("integer", "decimal", "floating point", "string", "date", "timestamp"),
    "boolean or binary": ("boolean", "binary"),
}
_FAMILIES = {
    "integer": ("integer",),
    "other number": ("decimal", "floating point"),
    "text or truth": ("string", "boolean", "binary"),
    "time": ("date", "timestamp"),
}
_SWITCHES = ("repartitionBeforeWrite.enabled", "optimizeMatchedOnlyMerge.enabled", "optimizeInsertOnlyMerge.enabled")
_MODES = {f"materialise {mode}": (f"merge.materializeSource={mode}",) for mode in ("none", "auto", "all")}
_POLICIES = {
    "LEGACY": ("spark.sql.storeAssignmentPolicy=LEGACY",),
    "STRICT": ("spark.sql.storeAssignmentPolicy=STRICT",),
    "case-sensitive": ("spark.sql.caseSensitive=true",),
}
_COMMIT = {
    "empty commits": ("skipRecordingEmptyCommits=false",),
    "no metrics": ("history.metricsEnabled=false",),
    "user metadata": ("commitInfo.userMetadata",),
    "transaction": ("write.txnAppId",),
    "optimized writes": ("optimizeWrite.enabled=true",),
}
_RUNS = {**{switch.split(".")[0]: (f"merge.{switch}=false",) for switch in _SWITCHES}, **_MODES}
_PRESERVE = tuple(
    f"merge.preserveNullSourceStructs{part}={value}" for part in ("", ".updateStar") for value in ("true", "false")
)

_ACTIONS = _each(
    *("matched update", "matched delete", "not matched insert"),
    *("not matched by source update", "not matched by source delete"),
)
_ASSIGNMENTS = _each("star", "all columns", "some columns", "field", "none")
_EVOLUTION = _each("off", "by statement", "by session")
_FEED = _each("on", "off")


def _all(groups: Groups) -> tuple[str, ...]:
    return tuple(raw for values in groups.values() for raw in values)


DIMENSIONS: tuple[Dimension, ...] = (
    Dimension(
        name="clauses",
        read=statements.kinds,
        values=_each(
            *("matched", "insert", "by source", "matched, insert", "matched, by source", "insert, by source"),
            "all three",
        ),
        coarse={
            **_each("matched", "insert", "matched, insert", "all three"),
            "some by source": ("by source", "matched, by source", "insert, by source"),
        },
    ),
    Dimension(
        name="order",
        read=statements.orders,
        values=_each(
            *("one of each kind", "same action again", "delete before update", "update before delete"),
            "kinds interleaved",
        ),
    ),
    Dimension(
        name="action",
        read=statements.actions,
        values=_ACTIONS,
    ),
    Dimension(
        name="assignment",
        read=statements.assignments,
        values=_ASSIGNMENTS,
    ),
    Dimension(
        name="value",
        read=statements.values,
        values=_each("constant", "source column", "target column", "expression", "expression over both"),
    ),
    Dimension(
        name="ON",
        read=statements.on_parts,
        values=_each(
            *("equality", "null-safe", "equality of expressions", "inequality", "or", "constant"),
            *("target part", "source part"),
        ),
        coarse={
            **_each("equality", "null-safe", "target part"),
            "no equality": ("inequality", "or", "constant"),
        },
    ),
    Dimension(
        name="source",
        read=statements.sources,
        values={
            **_each("table", "constants", "projection", "filter", "union"),
            "target": ("target itself", "query of the target"),
        },
        coarse={"table": ("table",), "query": ("constants", "projection", "filter", "union")},
    ),
    Dimension(
        name="evolution",
        read=statements.evolution,
        values=_EVOLUTION,
        coarse=_EVOLUTION,
    ),
    Dimension(
        name="setting",
        read=statements.settings,
        values={**_each("none"), **_RUNS, **_COMMIT, **_POLICIES, "null structs": _PRESERVE},
        coarse={"none": ("none",), "run": _all(_RUNS), "commit": _all(_COMMIT), "policy": _all(_POLICIES)},
    ),
    Dimension(name="condition of pairs", read=rows.conditions(Kind.MATCHED), values=_CONDITION, coarse=_CONDITION),
    Dimension(
        name="condition of ambiguous rows", read=rows.conditions(Kind.MATCHED, ambiguous=True), values=_CONDITION
    ),
    Dimension(
        name="condition of source rows", read=rows.conditions(Kind.NOT_MATCHED), values=_CONDITION, coarse=_CONDITION
    ),
    Dimension(
        name="condition of target rows",
        read=rows.conditions(Kind.NOT_MATCHED_BY_SOURCE),
        values=_CONDITION,
        coarse=_CONDITION,
    ),
    Dimension(
        name="match",
        read=rows.matches,
        values=_each(
            *(
                "one to one",
                "source row with several targets",
                "ambiguous, refused",
                "ambiguous, allowed",
                "NULL in ON",
            ),
            *("none", "all", "empty source", "empty target"),
        ),
        coarse={
            **_each("one to one", "source row with several targets", "NULL in ON", "none"),
            "ambiguous": ("ambiguous, refused", "ambiguous, allowed"),
            "empty table": ("empty source", "empty target"),
        },
    ),
    Dimension(
        name="result",
        read=rows.results,
        values=_each("path A", "path B", "path C", "path D", "path E", "refused", "failed"),
        coarse={
            "rewrites": ("path D",),
            "marks": ("path E",),
            "only inserts": ("path A", "path B"),
            "failed": ("failed",),
        },
    ),
    Dimension(
        name="change",
        read=rows.changes,
        values=_each("updates", "deletes", "inserts", "copies", "nothing"),
    ),
    Dimension(name="feed", read=rows.feed, values=_FEED, coarse=_FEED),
    Dimension(
        name="written",
        read=rows.written,
        values=_each(
            *("partition=inserted", "partition=updated", "partition=left out", "partition=NULL"),
            *("NOT NULL=inserted", "NOT NULL=updated", "NOT NULL=violated", "CHECK=violated"),
            *("default=inserted", "default=updated", "default=left out"),
            *("generated=inserted", "generated=updated", "generated=left out"),
        ),
    ),
    Dimension(name="key type", read=tables.key_types, values=_SCALARS, coarse=_FAMILIES),
    Dimension(
        name="condition type",
        read=tables.condition_types,
        values={**_SCALARS, "struct": ("struct",)},
    ),
    Dimension(
        name="assigned type",
        read=tables.assigned_types,
        values={
            **_each("integer", "decimal", "floating point", "string", "boolean", "binary", "date", "timestamp"),
            **_each("struct", "array", "map"),
        },
    ),
    Dimension(
        name="partition type",
        read=tables.partition_types,
        values=_each("none", "integer", "decimal", "string", "boolean", "date", "timestamp"),
        coarse={**_each("none", "string"), "number": ("integer", "decimal"), "time": ("date", "timestamp")},
    ),
    Dimension(
        name="nesting",
        read=tables.nested_types,
        values=_each("none", "struct", "array", "map", "deeper"),
    ),
    Dimension(
        name="member type",
        read=tables.member_types,
        values=_each("integer", "string", "floating point", "struct", "array"),
    ),
    Dimension(
        name="evolved type",
        read=tables.evolved_types,
        values={
            "none": ("none",),
            "number": ("integer", "decimal", "floating point"),
            "other scalar": ("string", "boolean", "binary", "date", "timestamp"),
            "nested": ("struct", "array", "map"),
            "field": ("field",),
            "wider": ("wider",),
        },
    ),
    Dimension(
        name="layout",
        read=tables.layouts,
        values=_each(
            *("one file", "files", "row groups", "older files", "other strings", "source batches"),
            *("statistics counts", "statistics alternate", "statistics none"),
        ),
        coarse={
            **_each("one file", "files", "row groups", "older files"),
            "few statistics": ("statistics counts", "statistics alternate", "statistics none"),
        },
    ),
    Dimension(
        name="table feature",
        read=tables.table_features,
        values=_each(
            *("none", "clustered", "in-commit timestamps", "checkpoint", "named"),
            *("mapping by name", "mapping by id", "renamed columns", "dropped columns"),
            *("marks rows", "inline vectors", "files of vectors", "widens types", "widened columns"),
            *("tracks rows", "gives row ids", "stored row ids"),
        ),
    ),
    Dimension(
        name="constraint",
        read=tables.constraints,
        values=_each(
            "none",
            "NOT NULL",
            "NOT NULL field",
            "CHECK",
            "default",
            "generated",
            "identity",
            "invariant",
            "text length",
        ),
        coarse={
            **_each("none", "NOT NULL", "CHECK"),
            "default or generated": ("default", "generated"),
            "identity": ("identity",),
            "of a column": ("invariant", "text length"),
        },
    ),
)


def grouped(raw: Collection[str], *, coarse: bool) -> frozenset[str]:
    """Turn the properties of a case, as ``dimension=thing``, into the values that are counted."""
    return frozenset(
        f"{each.name}={value}"
        for each in DIMENSIONS
        for value, things in (each.coarse if coarse else each.values).items()
        if any(f"{each.name}={thing}" in raw for thing in things)
    )
