"""The released versions, and how many causes of wrong behaviour are known in each."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("rows", "no error", "metrics", "cdf", "error")


@dataclass(frozen=True, slots=True)
class Known:
    """A released version: how many causes are known in it, in all and by kind; one cause can show in several kinds."""

    engine: str
    causes: int
    by_kind: tuple[int, int, int, int, int]


KNOWN = (
    Known("delta-rs@0.12.0", 12, (7, 1, 3, 1, 4)),
    Known("delta-rs@0.15.0", 13, (8, 1, 3, 1, 4)),
    Known("delta-rs@0.16.2", 12, (8, 1, 3, 1, 3)),
    Known("delta-rs@0.18.2", 10, (6, 1, 4, 2, 2)),
    Known("delta-rs@0.19.1", 11, (4, 1, 4, 3, 4)),
    Known("delta-rs@0.20.2", 8, (3, 1, 3, 2, 3)),
    Known("delta-rs@0.23.2", 6, (3, 1, 2, 2, 1)),
    Known("delta-rs@0.25.5", 8, (4, 1, 2, 2, 2)),
    Known("delta-rs@1.2.1", 9, (5, 1, 2, 2, 2)),
    Known("delta-rs@1.5.0", 10, (6, 1, 3, 2, 2)),
    Known("delta-rs@1.6.0", 7, (3, 0, 0, 1, 3)),
    Known("duckdb@1.4.0", 11, (3, 2, 1, 0, 7)),
    Known("duckdb@1.5.1", 8, (3, 2, 1, 0, 4)),
    Known("duckdb@1.5.3", 8, (2, 2, 1, 0, 5)),
    Known("duckdb@1.5.6", 6, (1, 1, 2, 0, 3)),
)
