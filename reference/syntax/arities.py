"""How many operands Spark's functions take, of those functions that the reference evaluates."""

from __future__ import annotations

from typing import Final

from mergecheck.model.errors import UnsupportedByReferenceError

_ANY: Final = 1_000_000
_ARITIES: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys(("NOW", "CURDATE", "CURRENT_DATE", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP"), (0, 0)),
    **dict.fromkeys(("ABS", "ARRAY_DISTINCT", "ARRAY_SIZE", "CARDINALITY", "SIZE", "ISNAN"), (1, 1)),
    **dict.fromkeys(("LENGTH", "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH"), (1, 1)),
    **dict.fromkeys(("LOWER", "LCASE", "UPPER", "UCASE"), (1, 1)),
    **dict.fromkeys(("IFNULL", "NVL", "NULLIF"), (2, 2)),
    **dict.fromkeys(("ARRAY_UNION", "ARRAY_EXCEPT", "ARRAY_INTERSECT", "ARRAY_REMOVE"), (2, 2)),
    **dict.fromkeys(("IF", "NVL2"), (3, 3)),
    **dict.fromkeys(("GREATEST", "LEAST"), (2, _ANY)),
    "COALESCE": (1, _ANY),
    "TRIM": (1, 2),
}
_OF_PAIRS: Final = ("MAP", "NAMED_STRUCT")
_NO_FUNCTIONS: Final = ("IFF",)  # which sqlglot knows, and Spark does not


def check_arity(function: str, num_operands: int) -> None:
    """Refuse a call that Spark refuses for its number of operands; which of several faults Spark names is left open.

    Raises:
        UnsupportedByReferenceError: for such a call.
    """
    name = function.upper()
    fewest, most = _ARITIES.get(name, (0, _ANY))
    if not fewest <= num_operands <= most or (name in _OF_PAIRS and num_operands % 2):
        raise UnsupportedByReferenceError(f"{name} with the wrong number of operands")
    if name in _NO_FUNCTIONS:
        raise UnsupportedByReferenceError(f"a function {name}")
