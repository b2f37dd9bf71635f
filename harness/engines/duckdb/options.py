"""How DuckDB is made to run a merge: the settings ``duckdb.*`` of a case, none of which changes its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.model.errors import UnsupportedByReferenceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.case import Case

_PREFIX = "duckdb."

CONF_DOMAIN: Mapping[str, tuple[str, ...]] = {
    "duckdb.source": ("view", "subquery", "cte", "values", "arrow", "parquet"),
    "duckdb.transaction": ("explicit", "local-rows", "mixed-rows", "after-changes", "rolled-back-before"),
    "duckdb.database": ("file", "temporary-table"),
    "duckdb.index": ("key", "other", "primary-key"),
    "duckdb.star": ("explicit", "by-name", "short"),
    "duckdb.clauses": ("by-target", "do-nothing"),
    "duckdb.threads": ("4",),
    "duckdb.preserve_insertion_order": ("false",),
    "duckdb.disabled_optimizers": (
        "filter_pushdown",
        "statistics_propagation",
        "join_order",
        "build_side_probe_side",
        "unused_columns,column_lifetime",
        "expression_rewriter",
        "join_filter_pushdown",
        "late_materialization",
        "filter_pushdown,statistics_propagation,join_order,unused_columns,column_lifetime,expression_rewriter",
    ),
}
"""What random cases for DuckDB may carry. Without any: a table in memory, one thread, each statement by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckDbOptions:
    """The settings of one case, typed; an empty text is DuckDB's own default.

    Attributes:
        source: the form of the source: a table, a view, a subquery, a CTE, ``VALUES``, an Arrow table, a Parquet file.
        transaction: what else the transaction of the merge does: nothing (``explicit``), it loads all rows of the table
            (``local-rows``) or half of them (``mixed-rows``), or changes rows and takes that back (``after-changes``);
            ``rolled-back-before`` merges twice, the first time in vain.
        database: ``file`` is read after it was opened again.
        index: an index on the key, on another column, or a primary key on the key.
        star: how ``*`` is written, if DuckDB's own forms mean the same.
        clauses: another notation of the same clauses.
        session: DuckDB's own settings and their values, written as SQL.
    """

    source: str = ""
    transaction: str = ""
    database: str = ""
    index: str = ""
    star: str = ""
    clauses: str = ""
    session: tuple[tuple[str, str], ...] = ()


def parse_options(case: Case) -> DuckDbOptions:
    """Read the settings of a case that are DuckDB's.

    Raises:
        UnsupportedByReferenceError: for a setting or a value that is not in `CONF_DOMAIN`.
    """
    given = {name: value for name, value in case.conf.items() if name.startswith(_PREFIX)}
    for name, value in given.items():
        if value not in CONF_DOMAIN.get(name, ()):
            raise UnsupportedByReferenceError(f"setting {name}={value}")
    words = {
        name: given.get(_PREFIX + name, "")
        for name in ("source", "transaction", "database", "index", "star", "clauses")
    }
    session = (
        ("threads", given.get(_PREFIX + "threads", "1")),
        ("preserve_insertion_order", given.get(_PREFIX + "preserve_insertion_order", "true")),
        ("disabled_optimizers", f"'{given.get(_PREFIX + 'disabled_optimizers', '')}'"),
    )
    return DuckDbOptions(**words, session=session)
