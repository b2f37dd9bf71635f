"""The rows of the benchmark as SQL for DuckDB: the 24 columns of ``web_returns`` as functions of row number and seed.

Order numbers rise with the row number, as TPC-DS generates them, and an order has a row or two; with the item a row has
a unique key. Columns that refer to other tables are NULL in one row of 22.
"""

from __future__ import annotations

from tools.benchmarks.merge_benchmark.cases import TargetKind

_KEYS = {  # name -> how many different values
    "wr_returned_date_sk": 2_000,
    "wr_returned_time_sk": 86_400,
    "wr_refunded_customer_sk": 100_000,
    "wr_refunded_cdemo_sk": 1_920_800,
    "wr_refunded_hdemo_sk": 7_200,
    "wr_refunded_addr_sk": 50_000,
    "wr_returning_customer_sk": 100_000,
    "wr_returning_cdemo_sk": 1_920_800,
    "wr_returning_hdemo_sk": 7_200,
    "wr_returning_addr_sk": 50_000,
    "wr_web_page_sk": 60,
    "wr_reason_sk": 35,
}
_AMOUNTS = (
    "wr_return_amt",
    "wr_return_tax",
    "wr_return_amt_inc_tax",
    "wr_fee",
    "wr_return_ship_cost",
    "wr_refunded_cash",
    "wr_reversed_charge",
    "wr_account_credit",
    "wr_net_loss",
)
_ORDER = (
    "wr_returned_date_sk",
    "wr_returned_time_sk",
    "wr_item_sk",
    *(name for name in _KEYS if name.startswith(("wr_refunded", "wr_returning"))),
    "wr_web_page_sk",
    "wr_reason_sk",
    "wr_order_number",
    "wr_return_quantity",
)
WIDE_COLUMNS = 176
"""How many columns the wide target has besides the 24."""
NUM_ITEMS = 18_000
PARTITION_COLUMN = "wr_reason_sk"
NUM_PARTITIONS = 10

COLUMNS: dict[str, str] = {
    **dict.fromkeys(_ORDER, "integer"),
    "wr_order_number": "long",
    **dict.fromkeys(_AMOUNTS, "decimal(7,2)"),
}
"""Delta's type of each column, in the table's order."""


def columns_of(kind: TargetKind) -> dict[str, str]:
    """Give the columns of a target and Delta's type of each."""
    wide = {f"extra_{i:03d}": "integer" for i in range(WIDE_COLUMNS)} if kind is TargetKind.WIDE else {}
    return {**COLUMNS, **wide}


def select_rows(numbers: str, *, seed: int, kind: TargetKind) -> str:
    """Write the query for the rows of some row numbers.

    Args:
        numbers: SQL of a relation with the column ``i``, the row number from 0.
        seed: other seeds give other values; keys stay the same.
        kind: the target that the rows belong to.
    """
    values = {
        "wr_item_sk": "CAST(i * 7919 % 18000 + 1 AS INTEGER)",
        "wr_order_number": "CAST(i * 5 // 6 + 1 AS BIGINT)",
        "wr_return_quantity": _drawn("wr_return_quantity", 100, seed),
        **{name: _or_null(name, _drawn(name, size, seed), seed) for name, size in _KEYS.items()},
        **{name: f"CAST({_drawn(name, 1_000_000, seed)} / 100.0 AS DECIMAL(7, 2))" for name in _AMOUNTS},
    }
    if kind is TargetKind.PARTITIONED:
        values[PARTITION_COLUMN] = f"CAST(i % {NUM_PARTITIONS} AS INTEGER)"
    if kind is TargetKind.SKEWED:
        # One item has nine rows of ten; the order alone is unique.
        values["wr_item_sk"] = f"CASE WHEN i % 10 > 0 THEN 1 ELSE {values['wr_item_sk']} END"
        values["wr_order_number"] = "CAST(i + 1 AS BIGINT)"
    columns = columns_of(kind)
    extra = {name: _drawn(name, 1_000, seed) for name in columns if name not in values}
    selected = ", ".join(f"{({**values, **extra})[name]} AS {name}" for name in columns)
    return f"SELECT i, {selected} FROM ({numbers})"


def _drawn(name: str, size: int, seed: int) -> str:
    return f"CAST(hash(i, '{name}', {seed}) % {size} + 1 AS INTEGER)"


def _or_null(name: str, value: str, seed: int) -> str:
    return f"CASE WHEN hash(i, '{name}?', {seed}) % 22 > 0 THEN {value} END"
