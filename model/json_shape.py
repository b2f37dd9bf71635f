"""Objects, texts and maps of a case file: one message for each shape that is not the format's."""

from __future__ import annotations

from typing import Any

from mergecheck.model.errors import CaseFormatError


def require_object(document: object, allowed: tuple[str, ...], required: tuple[str, ...], where: str) -> dict[str, Any]:
    """Return an object of JSON or TOML that has the required keys and no others than the allowed ones.

    Raises:
        CaseFormatError: for anything else; ``where`` leads the message.
    """
    if not isinstance(document, dict):
        raise CaseFormatError(f"{where}: must be an object with the keys {', '.join(allowed)}; given {document!r:.80}")
    for key in document:
        if key not in allowed:
            raise CaseFormatError(f"{where}: unknown key {key!r}; allowed are {', '.join(allowed)}")
    for key in required:
        if key not in document:
            raise CaseFormatError(f"{where}: key {key!r} is missing; required are {', '.join(required)}")
    return document


def require_text(value: object, where: str) -> str:
    """Return a text that is not blank.

    Raises:
        CaseFormatError: for anything else.
    """
    if not isinstance(value, str) or not value.strip():
        raise CaseFormatError(f"{where}: must be text that is not empty, given {value!r:.80}")
    return value


def require_text_map(value: object, where: str) -> dict[str, str]:
    """Return an object whose values are texts.

    Raises:
        CaseFormatError: for anything else.
    """
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise CaseFormatError(f'{where}: must be an object of texts, e.g. {{"name": "true"}}; given {value!r:.80}')
    return dict(value)


def require_column_names(value: object, columns: tuple[str, ...], where: str) -> tuple[str, ...]:
    """Return a list of distinct names, all from the columns.

    Raises:
        CaseFormatError: for anything else.
    """
    if not isinstance(value, list) or len(set(map(str, value))) != len(value):
        raise CaseFormatError(f"{where}: must be a list of distinct column names, given {value!r:.80}")
    for name in value:
        if name not in columns:
            raise CaseFormatError(f"{where}: {name!r} is no column; the columns are {', '.join(columns)}")
    return tuple(value)
