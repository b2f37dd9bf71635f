"""The kinds of merges that the scale mode makes: a statement, and the traits of its tables."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum

from mergecheck.harness.verdict import UserInputError

DRAWN = "drawn"
_HEAD = "MERGE INTO target t USING source s ON t.k = s.k"
_ALL = "qty = s.qty, price = s.price, rate = s.rate, name = s.name, day = s.day"
_UPSERT = f"{_HEAD} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


class Trait(Enum):
    """A special property of a shape's tables."""

    PARTITIONED = "partitioned"
    """the target is partitioned by ``part``, and one source row in ten moves its target row to another partition"""
    HOT_KEY = "hot key"
    """one target row in five has the key 0, which one source row matches"""
    NULL_KEYS = "NULL keys"
    """one row in fifty has no key, on both sides"""
    DUPLICATES = "duplicates"
    """one target row in five is there twice, cell by cell"""
    AMBIGUOUS = "ambiguous"
    """a few source rows are there twice"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One kind of merge.

    Attributes:
        sentence: a description in one sentence.
        statement: the MERGE; empty if it is drawn from the seed.
        every: the source has keys of every n-th file of the target, beginning with the first; the others stay
            untouched if no clause reaches them.
        matched: of 1000 rows of these files, how many have a source row.
        fresh: for 1000 rows of these files, how many source rows have a key that no target row has.
    """

    name: str
    sentence: str
    statement: str
    traits: frozenset[Trait] = frozenset()
    every: int = 4
    matched: int = 300
    fresh: int = 50


SHAPES = (
    Shape(name="upsert", sentence="update what matches, insert the rest", statement=_UPSERT, every=8),
    Shape(
        name="conditional-upsert",
        sentence="several clauses of each kind, with conditions that NULL decides too",
        statement=f"{_HEAD} WHEN MATCHED AND s.name IS NULL THEN DELETE "
        "WHEN MATCHED AND s.qty > t.qty THEN UPDATE SET qty = s.qty, name = concat(t.name, '/', s.name), rate = s.rate "
        "WHEN MATCHED AND t.day < s.day THEN UPDATE SET price = s.price, day = s.day "
        "WHEN NOT MATCHED AND s.qty < 300 THEN INSERT (k, part, qty, name) VALUES (s.k, s.part, s.qty + 1, s.name) "
        "WHEN NOT MATCHED AND s.rate > 10 THEN INSERT *",
    ),
    Shape(
        name="delete-only",
        sentence="delete what matches; several source rows may match a target row",
        statement=f"{_HEAD} WHEN MATCHED THEN DELETE",
        traits=frozenset({Trait.AMBIGUOUS}),
    ),
    Shape(
        name="insert-only",
        sentence="insert what does not match: nothing is rewritten",
        statement=f"{_HEAD} WHEN NOT MATCHED THEN INSERT *",
        matched=100,
        fresh=200,
    ),
    Shape(
        name="by-source",
        sentence="update and delete what the source does not have: every file is rewritten",
        statement=f"{_HEAD} WHEN MATCHED THEN UPDATE SET {_ALL} WHEN NOT MATCHED THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND t.day < DATE '2020-06-01' THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE AND t.qty IS NULL THEN UPDATE SET qty = 0, name = concat(t.name, '?')",
    ),
    Shape(
        name="partitioned",
        sentence="upsert into a partitioned table; some rows move to another partition",
        statement=_UPSERT,
        traits=frozenset({Trait.PARTITIONED}),
    ),
    Shape(
        name="skewed",
        sentence="one key has a fifth of the target's rows",
        statement=f"{_HEAD} WHEN MATCHED AND s.qty IS NOT NULL THEN UPDATE SET {_ALL} "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
        traits=frozenset({Trait.HOT_KEY}),
    ),
    Shape(
        name="null-keys",
        sentence="rows without a key match nothing",
        statement=_UPSERT,
        traits=frozenset({Trait.NULL_KEYS}),
    ),
    Shape(
        name="duplicates",
        sentence="equal target rows are rows of their own",
        statement=f"{_HEAD} WHEN MATCHED AND t.qty < 700 THEN UPDATE SET {_ALL} WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT *",
        traits=frozenset({Trait.DUPLICATES}),
    ),
    Shape(
        name="ambiguous",
        sentence="two source rows match one target row: the merge must fail and leave the table alone",
        statement=_UPSERT,
        traits=frozenset({Trait.AMBIGUOUS}),
    ),
    Shape(name=DRAWN, sentence="clauses drawn from the seed", statement=""),
)
_BY_NAME = {shape.name: shape for shape in SHAPES}

_CONDITIONS = {
    "M": ("s.qty > t.qty", "t.name = s.name", "s.rate IS NULL OR t.price > s.price", "t.day >= s.day", "t.qty <=> 7"),
    "I": ("s.qty < 500", "s.name <> ''", "s.day > DATE '2022-01-01'", "s.price IS NOT NULL AND s.rate < 50"),
    "N": ("t.qty < 100", "t.name IS NULL", "t.day < DATE '2021-03-01'", "t.rate > 100 OR t.qty IS NULL"),
}
_UPDATES = {
    "M": ("SET *", f"SET {_ALL}", "SET qty = t.qty, name = s.name", "SET price = s.price, rate = t.rate, day = s.day"),
    "N": ("SET qty = 0", "SET name = concat(t.name, '-'), rate = NULL", "SET day = DATE '2030-01-01', qty = t.part"),
}
_INSERTS = ("*", "(k, name, qty) VALUES (s.k, s.name, s.part)", "(k, part, day) VALUES (s.k, s.part, s.day)")
_WORDS = {"M": "MATCHED", "I": "NOT MATCHED", "N": "NOT MATCHED BY SOURCE"}


def shape_named(name: str) -> Shape:
    """Find a shape.

    Raises:
        UserInputError: if there is none of that name.
    """
    if name not in _BY_NAME:
        raise UserInputError(f"there is no shape {name!r}; the shapes are: {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def statement_of(shape: Shape, seed: int) -> str:
    """Give a shape's statement; the same seed draws the same one."""
    if shape.statement:
        return shape.statement
    dice = random.Random(f"{seed}/statement")  # noqa: S311 - drawn cases are no secrets
    kinds = [kind for kind in "MIN" if dice.random() < (0.4 if kind == "N" else 0.8)] or ["M"]
    return " ".join([_HEAD, *(clause for kind in kinds for clause in _clauses(kind, dice))])


def _clauses(kind: str, dice: random.Random) -> list[str]:
    """Draw one to three clauses of a kind; all but the last have a condition (R-107)."""
    number = dice.randint(1, 3)
    conditions = dice.sample(_CONDITIONS[kind], number)
    if dice.random() < 0.5:  # noqa: PLR2004 - a coin
        conditions[-1] = ""
    return [
        f"WHEN {_WORDS[kind]}{f' AND {condition}' if condition else ''} THEN {_action(kind, dice)}"
        for condition in conditions
    ]


def _action(kind: str, dice: random.Random) -> str:
    if kind == "I":
        return f"INSERT {dice.choice(_INSERTS)}"
    return "DELETE" if dice.random() < 0.3 else f"UPDATE {dice.choice(_UPDATES[kind])}"  # noqa: PLR2004 - as drawn
