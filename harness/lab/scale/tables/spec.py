"""What describes a scale case: a few numbers from which its tables follow bit for bit."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from mergecheck.harness.lab.scale.tables.shapes import Trait, shape_named, statement_of
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.text_file import read_text
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.lab.scale.tables.shapes import Shape

FORMAT_VERSION = 1
MAX_ROWS = 10**9
MAX_SEED = 2**31 - 1
DEFAULT_ROWS = 100_000
ROWS_PER_FILE = 250_000
FEWEST_FILES = 16
SCHEMA = parse_schema("k BIGINT, part INT, qty INT, price DECIMAL(12,2), rate DOUBLE, name STRING, day DATE")
"""The columns of both tables; ``k`` is the key."""
KEY, PARTITION = "k", "part"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleSpec:
    """One scale case. The same spec gives the same tables, as long as the version of DuckDB is the same.

    Attributes:
        rows: of the target. files: of the target, at most one per row.
        statement: of a shape, or another one over the same tables.
    """

    seed: int
    rows: int
    files: int
    shape: str
    statement: str

    def __post_init__(self) -> None:
        """Refuse numbers outside the allowed ranges.

        Raises:
            UserInputError: the message gives the allowed range.
        """
        shape_named(self.shape)
        for name, value, low, high in (("seed", self.seed, 0, MAX_SEED), ("rows", self.rows, 1, MAX_ROWS)):
            if not low <= value <= high:
                raise UserInputError(f"{name} is {value}, but must be {low} to {high}")
        if not 1 <= self.files <= self.rows:
            raise UserInputError(f"files is {self.files}, but must be 1 to the number of rows, {self.rows}")

    @property
    def recipe(self) -> Shape:
        """The shape that the tables have."""
        return shape_named(self.shape)

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The target's partition columns."""
        return (PARTITION,) if Trait.PARTITIONED in self.recipe.traits else ()

    @property
    def name(self) -> str:
        """A readable name, usable as a file name."""
        return f"{self.shape}-{self.rows}-{self.seed}"

    def case(self) -> Case:
        """Give the case without its rows: schemas, properties, statement."""
        return Case(
            id=self.name,
            target=Target(schema=SCHEMA, partition_by=self.partition_by, properties={CDF_PROPERTY: "true"}),
            source=Source(schema=SCHEMA),
            sql=self.statement,
        )

    def to_json(self) -> str:
        """Write the spec as the file that ``mergecheck lab scale`` reads."""
        return json.dumps({"format_version": FORMAT_VERSION, **asdict(self)}, indent=1) + "\n"


def make_spec(*, shape: str, rows: int, files: int | None, seed: int) -> ScaleSpec:
    """Describe a case of a shape; without a number of files, one for 250,000 rows and 16 at least.

    Raises:
        UserInputError: for numbers that no table has, or a shape that there is not.
    """
    if files is None:
        files = max(min(FEWEST_FILES, rows), rows // ROWS_PER_FILE)
    statement = statement_of(shape_named(shape), seed)
    return ScaleSpec(seed=seed, rows=rows, files=files, shape=shape, statement=statement)


def load_spec(path: Path) -> ScaleSpec:
    """Read a spec.

    Raises:
        UserInputError: if the file is no spec; the message gives the reason.
    """
    try:
        document = json.loads(read_text(path))
    except CaseFormatError as error:
        raise UserInputError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UserInputError(f"{path} cannot be read as the spec of a scale case: {error}") from error
    names = [field.name for field in fields(ScaleSpec)]
    if not isinstance(document, dict) or document.get("format_version") != FORMAT_VERSION:
        raise UserInputError(f"{path} is no spec of a scale case with format_version {FORMAT_VERSION}")
    given = {name: value for name, value in document.items() if name != "format_version"}
    texts = ("shape", "statement")
    wrong = [n for n in names if not isinstance(given.get(n), str if n in texts else int) or given.get(n) is True]
    if wrong or given.keys() != set(names):
        raise UserInputError(
            f"{path} must have the keys {', '.join(names)}, {' and '.join(texts)} texts and the others whole numbers; "
            f"it has {', '.join(map(str, given)) or 'none'}" + (f"; look at {', '.join(wrong)}" if wrong else "")
        )
    return ScaleSpec(**given)
