"""The cases that a generator must be able to produce, line by line, each item with a predicate over a drawn case.

The list was derived from more than a hundred real bugs of MERGE in eleven engines. A line that no case can show has its
reason in ``BY_DESIGN``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reach_matches import (
    duplicates_among_unmatched,
    file_by_matches,
    mixed_file,
    moved_row,
    nothing_fires,
    null_in_untouched_row,
    overlapping,
    same_values,
    several_matches,
    transition,
)
from reach_statements import (
    actions_in_order,
    both_sides_in_value,
    conjunct,
    constant_condition,
    key_update,
    mixed_lists,
    on_without_partition,
    other_zero,
    swapped,
)
from reach_tables import (
    any_labelled,
    evolution,
    key_cell,
    labelled,
    large,
    named,
    nested_cell,
    null_keys,
    overflow,
    partition_text,
    partition_type,
    reversed_partitions,
    several_row_groups,
    text_for_numbers,
)

from mergecheck.model.storage import Statistics, StringType
from mergecheck.model.types.data_types import (
    BOOLEAN,
    DATE,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    StructType,
)
from mergecheck.strategies import Feature, Profile
from mergecheck.strategies.syntax.expressions import MergeTable
from mergecheck.strategies.syntax.statement import Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.strategies import DrawnCase

    Predicate = Callable[[DrawnCase], bool]

LINES: dict[str, dict[str, Predicate]] = {
    "NULLs in keys, in partition columns, in untouched rows": {
        "both sides": null_keys(target=True, source=True),
        "target only": null_keys(target=True, source=False),
        "source only": null_keys(target=False, source=True),
        "partition": labelled("null:partition"),
        "untouched row": null_in_untouched_row,
    },
    "duplicate source keys": {
        "no match fires": several_matches(range(1)),
        "one fires": several_matches(range(1, 2)),
        "several fire": several_matches(range(2, 99)),
        "in the target": labelled("rows:duplicate-target-rows"),
        "among unmatched rows": duplicates_among_unmatched,
    },
    "values of matches": {
        "equal": transition(same_values),
        "NULL to value": transition(lambda own, other: own is None and other is not None),
        "value to NULL": transition(lambda own, other: own is not None and other is None),
    },
    "empty tables and self-merges": {
        "empty target": lambda drawn: not drawn.case.target.rows,
        "empty source": lambda drawn: drawn.case.source is not None and not drawn.case.source.rows,
        "both empty": lambda drawn: (
            drawn.case.source is not None and not drawn.case.source.rows and not drawn.case.target.rows
        ),
        "source = target": labelled("source:self"),
        "derived from the target": labelled("query:over-target"),
    },
    "keys and widths": {
        "NaN": key_cell(lambda value: isinstance(value, float) and math.isnan(value)),
        "-0.0": key_cell(lambda value: isinstance(value, float) and math.copysign(1, value) < 0 and value == 0),
        "decimals": labelled("cast:DECIMAL-to-DECIMAL"),
        "integers": lambda drawn: any(
            drawn.merge.schemas.target_column(own).type != drawn.merge.schemas.source_column(other).type
            for own, other in drawn.merge.schemas.keys
            if drawn.merge.schemas.target_column(own).is_integer
        ),
        "overflow": overflow,
    },
    "nested data": {
        "list with NULL": nested_cell(lambda cell: cell is not None and None in cell, ArrayType),
        "NULL struct": nested_cell(lambda cell: cell is None, StructType),
        "struct of NULLs": nested_cell(lambda cell: cell is not None and set(cell) == {None}, StructType),
        "structs of different width": any_labelled("evolution:new-field", "evolution:missing-field"),
        "map": nested_cell(bool, MapType),
    },
    "many rows": {"matches behind the first batch": large(1), "as many matches": large(100)},
    "partial expressions": {
        "guarded": labelled("value:Quotient"),
        "text that is no number": text_for_numbers,
    },
    "files": {
        "several": any_labelled(*(f"files:{number}" for number in range(2, 6))),
        "mixed file": mixed_file,
        "file without a match": file_by_matches(lambda matched, _: matched == 0),
        "file with nothing but matches": file_by_matches(lambda matched, rows: matched == rows),
    },
    "row groups, statistics, older files": {
        "row groups": several_row_groups,
        "no statistics": lambda drawn: drawn.case.target.layout.statistics is Statistics.NONE,
        "some statistics": labelled("layout:statistics-alternate"),
        "older schema": labelled("layout:older-files"),
    },
    "partitioning": {
        **{f"{number} columns": labelled(f"partitions:{number}") for number in range(3)},
        "another order": reversed_partitions,
        "STRING": partition_type(STRING),
        "DATE": partition_type(DATE),
        "TIMESTAMP": partition_type(TIMESTAMP),
        "DECIMAL": partition_type(DecimalType),
        "BOOLEAN": partition_type(BOOLEAN),
        "INT": partition_type(INT),
    },
    "partition strings": {
        **{part: partition_text(part) for part in (" ", "/", "=", "%")},
        "not ASCII": partition_text("é"),
        "empty": partition_text(""),
    },
    "rows between partitions": {"moved": moved_row, "ON without partition": on_without_partition},
    "order of columns and Arrow types": {
        "shuffled": labelled("source:other-order"),
        **{
            kind.value: labelled(f"layout:source-{kind.value}")
            for kind in (StringType.LARGE_STRING, StringType.STRING_VIEW, StringType.DICTIONARY)
        },
    },
    "ON over both sides": {
        **{form: labelled(f"on:{form}") for form in ("equality", "null-safe", "key-expression", "non-equi", "or")},
        "composite": labelled("keys:2", "on:equality"),
    },
    "ON over one side": {
        "range": conjunct(MergeTable.TARGET, "Comparison", "Between"),
        "IN": conjunct(MergeTable.TARGET, "In"),
        "IS NULL": conjunct(MergeTable.TARGET, "IsNull"),
        "boolean": conjunct(MergeTable.TARGET, "Reference"),
        "zero of another sign": other_zero,
        "source only": conjunct(MergeTable.SOURCE, "Comparison", "Between", "In", "IsNull"),
        "nothing but the target": labelled("on:target-side-only"),
        "TRUE": constant_condition(True),  # noqa: FBT003 - a truth value of SQL
        "FALSE": constant_condition(False),  # noqa: FBT003 - the same
        "NULL": constant_condition(None),
    },
    "kinds of clauses": {
        **{
            kinds: labelled(f"kinds:{kinds}")
            for kinds in (
                *("matched", "not_matched", "not_matched_by_source", "matched+not_matched"),
                *("matched+not_matched_by_source", "not_matched+not_matched_by_source"),
                "matched+not_matched+not_matched_by_source",
            )
        },
        "delete only": lambda drawn: {c.action for c in drawn.merge.statement.clauses} == {Action.DELETE},
    },
    "several clauses of a kind": {
        "overlapping": overlapping,
        "delete before update": actions_in_order(Action.DELETE, Action.UPDATE),
        "update before delete": actions_in_order(Action.UPDATE, Action.DELETE),
        "kinds in any order": labelled("kinds:interleaved"),
        "nothing acts on a match": nothing_fires,
    },
    "assignments": {
        "star and lists": mixed_lists,
        "both sides": both_sides_in_value,
        "swap": swapped,
        "join key": key_update,
        "unconditional delete with several matches": labelled("shape:sole-unconditional-delete", "matches:multi"),
        "conditional delete with several matches": labelled(
            "clause:matched/delete/conditional", "kinds:matched", "outcome:ambiguous"
        ),
    },
    "change data feed": {
        "partitions": lambda drawn: drawn.features.issuperset({"cdf:on"}) and bool(drawn.case.target.partition_by),
        "evolution": lambda drawn: "cdf:on" in drawn.features and drawn.merge.schemas.evolves,
        "deletes": labelled("cdf:on", "fires:matched/delete"),
        "updates without a change": lambda drawn: "cdf:on" in drawn.features and transition(same_values)(drawn),
    },
    "schema evolution": {
        "two extra columns": evolution(extra=2),
        "missing columns": evolution(missing=1),
        "extra and missing": evolution(extra=1, missing=1),
        "beside NOT NULL": evolution(extra=1, not_null=True),
        "off, with extra columns": lambda drawn: (
            not drawn.merge.schemas.evolves and bool(drawn.merge.schemas.new_columns)
        ),
        "by name": labelled("evolution:new-column-by-name"),
    },
    "names": {
        "space": named(" "),
        "dot": named("."),
        "backtick": named("`"),
        "quotes": named("'", '"'),
        "leading digit": named("1st"),
        "keyword": named("select", "order"),
        "upper case": named("Upper", "camelCase"),
        "other case": labelled("name:other-case"),
        "equal to alias": labelled("name:alias-of-column"),
        "internal": named("__delta_rs_", "merge_action", "rowid"),
        "change column": labelled("name:reserved"),
    },
    "settings and batches": {
        "batches of the source": labelled("layout:source-batches"),
        "planner": any_labelled("setting:merge.materializeSource=all", "setting:merge.repartitionBeforeWrite=false"),
        "nullability": labelled("column:not-null", "null:source-value"),
    },
    "refused or failing": {
        "ambiguous": labelled("outcome:ambiguous"),
        "wrong side": any_labelled("invalid:R-117", "invalid:R-118"),
        "unconditional not last": labelled("invalid:R-107"),
        "no clause": labelled("invalid:R-106"),
        "missing columns with a star": labelled("invalid:R-201"),
        "NOT NULL": lambda drawn: any(c.misfits and not c.feeds for c in drawn.merge.schemas.source),
        "tight CHECK": labelled("check:tight"),
        "wrong arity": any_labelled("invalid:R-224", "invalid:R-225", "invalid:R-227"),
    },
}

PROFILES = {
    "ON over one side": Profile()
    .favouring(Feature.TARGET_ONLY_ON, Feature.WIDE_TYPES, Feature.PARTITIONS)
    .without(
        Feature.ONE_SIDED_ON, Feature.CONSTANT_ON, Feature.NULL_VALUES, Feature.EMPTY_TARGET, Feature.NESTED_TYPES
    ),
    "assignments": Profile()
    .favouring(Feature.AMBIGUOUS, Feature.MATCHED_DELETE)
    .without(Feature.INSERT, Feature.BY_SOURCE_UPDATE, Feature.BY_SOURCE_DELETE),
    "duplicate source keys": Profile()
    .favouring(Feature.AMBIGUOUS, Feature.CONDITIONS, Feature.MATCHED_UPDATE)
    .without(Feature.LONE_DELETE, Feature.AMBIGUOUS_UNMATCHED),
    "many rows": Profile().favouring(Feature.LARGE_TABLES, percent=97),
    "partial expressions": Profile().favouring(Feature.CASTS, Feature.PARTIAL_VALUES, Feature.WIDE_TYPES),
    "refused or failing": Profile()
    .favouring(Feature.INVALID, Feature.EXPLICIT, Feature.MISSING_SOURCE_COLUMNS)
    .without(Feature.SCHEMA_EVOLUTION, Feature.STAR),
}
"""The profile that asks for more of a line, where the default stream shows an item once in hundreds of cases."""

BY_DESIGN = {
    "a self-merge of 10^5 rows": "a case holds its rows; 8,300 on both sides are beyond every batch size in use",
    "partition transforms": "Delta has none; generated partition columns stand for them",
    "index or primary key": "no part of a Delta table: a setting of the engine that has one (an axis)",
    "deletion vectors": "the reference predicts copy-on-write metrics; a setting of the engine that has them",
    "subqueries in conditions": "Delta refuses them (R-134): the stream has them among the refused statements only",
    "ANSI off": "drawn seldom under the LEGACY policy, and not predicted by the reference",
    "streaming source": "how an engine is handed its source: a setting of that engine (an axis)",
    "sequences of merges, concurrency": "a case is one merge; running it twice is the harness's business",
}
