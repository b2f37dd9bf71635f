"""A resolved MERGE, which the executors run: names are resolved and values have their columns' types.

Inside a run the columns of both tables go by positional names, so that no user column can collide with another,
with the other table's, or with a helper column (R-809): column *i* of the target is ``target_column(i)``, column *i*
of the source ``source_column(i)``. Fields of structs keep their names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mergecheck.merge.types.assign import TypedSql, null_of, widen

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType
    from sqlglot import exp

    from mergecheck.merge.errors import AnalysisError
    from mergecheck.merge.syntax.statement import ActionType, ClauseKind


def target_column(index: int) -> str:
    """Name the target's column at a position of its schema."""
    return f"target_{index}"


def source_column(index: int) -> str:
    """Name the source's column at a position of its schema."""
    return f"source_{index}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResolvedExpression:
    """A condition or a value whose names are resolved.

    Attributes:
        sql: what Spark runs: the user's text over positional column names.
        tree: the same as a sqlglot tree; columns are unqualified positional names, subqueries are untouched.
        target_columns: positions of the target columns referred to.
        source_columns: positions of the source columns referred to.
        text: as the user wrote it, for history, logs and errors.
        reference: the type of a plain column or field of a column, None for any other expression.
    """

    sql: str
    tree: exp.Expr
    target_columns: frozenset[int]
    source_columns: frozenset[int]
    text: str
    reference: DataType | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResolvedClause:
    """A clause ready to run.

    Attributes:
        values: for UPDATE and INSERT one Spark SQL text per column of the final schema, cast to its type; a column
            that an UPDATE leaves alone is its own positional name (R-211). Empty for DELETE.
        source_columns: positions of the source columns that the values refer to.
        generated_ids: positions of the identity columns that an INSERT leaves to the writer (R-226).
        place: how messages name it.
    """

    kind: ClauseKind
    action: ActionType
    condition: ResolvedExpression | None
    values: tuple[str, ...]
    source_columns: frozenset[int] = frozenset()
    generated_ids: frozenset[int] = frozenset()
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResolvedMerge:
    """A MERGE statement whose names, types and final schema are resolved.

    Attributes:
        target_schema: the table's columns now. source_schema: the source's.
        final_schema: the table's columns after the merge (R-233); equal to ``target_schema`` without evolution.
        matched, not_matched, not_matched_by_source: the clauses by kind in statement order.
        keep_null_structs: a NULL struct of an old row stays NULL if its type gains fields (R-244).
        not_boolean: the error of a condition of another type, which is met when plans are made (R-135); else None.
        old_values: the Spark SQL of each column of the final schema before the merge: a column of the table, with its
            new fields if it gains some, or a typed NULL (R-241, R-610).
    """

    target_schema: StructType
    source_schema: StructType
    final_schema: StructType
    condition: ResolvedExpression
    matched: tuple[ResolvedClause, ...]
    not_matched: tuple[ResolvedClause, ...]
    not_matched_by_source: tuple[ResolvedClause, ...]
    keep_null_structs: bool = True
    not_boolean: AnalysisError | None = None
    old_values: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Compute the old values once; they follow from the two schemas."""
        old = self.target_schema.fields
        values = tuple(
            widen(
                TypedSql(sql=target_column(i), type=old[i].dataType),
                new.dataType,
                keep_null_structs=self.keep_null_structs,
            )
            if i < len(old)
            else null_of(new.dataType)
            for i, new in enumerate(self.final_schema.fields)
        )
        object.__setattr__(self, "old_values", values)

    @property
    def clauses(self) -> tuple[ResolvedClause, ...]:
        """All clauses: matched, not matched, not matched by source."""
        return self.matched + self.not_matched + self.not_matched_by_source

    @property
    def generated_ids(self) -> tuple[int, ...]:
        """The identity columns whose values this merge generates; all clauses that generate any generate these."""
        return tuple(sorted(frozenset[int]().union(*(clause.generated_ids for clause in self.not_matched))))
