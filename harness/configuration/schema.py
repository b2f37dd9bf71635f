"""The JSON schema of the configuration, and the check of a table against it.

The schema is generated from the options of the verbs (``harness.cli.configuration_schema``) and shipped as a
file, so that reading a configuration imports no verb.
"""

from __future__ import annotations

import json
import math
from importlib import resources
from typing import TYPE_CHECKING, Any

from mergecheck.harness.configuration.similar_names import did_you_mean
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SCHEMA_FILE = "schema.json"
PROFILES = "profiles"
_TYPES: dict[str, Any] = {
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "string": str,
    "object": dict,
    "array": list,
}
_MAX_QUOTED = 200


def load_schema() -> dict[str, Any]:
    """Return the schema that mergecheck ships."""
    text = (resources.files("mergecheck.harness.configuration") / SCHEMA_FILE).read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def verbs_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the verbs that have a table, and ``pytest``."""
    return tuple(name for name, part in schema["properties"].items() if "$ref" in part)


def keys_of(schema: Mapping[str, Any], verb: str) -> dict[str, Any]:
    """Return the schemas of all keys that a verb obeys, in its own table or at the top."""
    properties: dict[str, Any] = schema["$defs"][verb]["properties"]
    return properties


def shared_keys(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that may stand at the top, for all verbs that have them."""
    return frozenset(name for name, part in schema["properties"].items() if "$ref" not in part and name != PROFILES)


def check(table: Mapping[str, Any], schema: Mapping[str, Any], *, where: str, prefix: str) -> None:
    """Check a configuration.

    Args:
        table: parsed from TOML.
        schema: of the configuration.
        where: the file, for messages.
        prefix: the prefix of tables' names, for messages.

    Raises:
        UserInputError: a key is unknown or a value not allowed; the message gives file, key, the given value and the
            allowed ones.
    """
    _check_table(table, schema, schema, where=where, path=prefix)


def closest(name: str, known: Iterable[str]) -> str:
    """Return a question that names the most similar words, or the list of known words if none is similar."""
    names = sorted(known)
    return did_you_mean(name.replace("_", "-"), names, most=2) or f"Known are: {', '.join(names) or 'none'}."


def _check_table(
    table: Mapping[str, Any], part: Mapping[str, Any], schema: Mapping[str, Any], *, where: str, path: str
) -> None:
    properties: Mapping[str, Any] = part.get("properties", {})
    others = part.get("additionalProperties", False)
    for key, value in table.items():
        found = properties.get(key, others or None)
        if found is None:
            raise UserInputError(f"{where}: unknown key {path}{key}. {closest(key, properties)}")
        resolved = _resolved(found, schema)
        if resolved.get("type") == "object":
            if not isinstance(value, dict):
                raise UserInputError(f"{where}: {path}{key} = {_quoted(value)} must be a table: [{path}{key}]")
            _check_table(value, resolved, schema, where=where, path=f"{path}{key}.")
        elif not _allows(resolved, value):
            raise UserInputError(f"{where}: {path}{key} = {_quoted(value)}. Allowed: {words(resolved)}.")


def _resolved(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in part:
        return part
    found: Mapping[str, Any] = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return found


def _allows(part: Mapping[str, Any], value: object) -> bool:
    if "anyOf" in part:
        return any(_allows(one, value) for one in part["anyOf"])
    if isinstance(value, bool) != (part["type"] == "boolean") or not isinstance(value, _TYPES[part["type"]]):
        return False
    if isinstance(value, list):
        return all(_allows(part["items"], item) for item in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (
            math.isfinite(value)
            and part.get("minimum", value) <= value <= part.get("maximum", value)
            and ("exclusiveMinimum" not in part or value > part["exclusiveMinimum"])
        )
    return value in part.get("enum", [value])


def words(part: Mapping[str, Any]) -> str:
    """Describe the values that a schema allows."""
    if "anyOf" in part:
        return " or ".join(words(one) for one in part["anyOf"])
    if "enum" in part:
        return ", ".join(json.dumps(one) for one in part["enum"])
    if part["type"] == "array":
        return f"a list of: {words(part['items'])}"
    if part["type"] == "boolean":
        return "true or false"
    if part["type"] == "string":
        return "a path" if part.get("format") == "path" else "a text"
    low = f", at least {part['minimum']}" if "minimum" in part else ""
    low = f", more than {part['exclusiveMinimum']}" if "exclusiveMinimum" in part else low
    high = f", at most {part['maximum']}" if "maximum" in part else ""
    return ("a whole number" if part["type"] == "integer" else "a number") + low + high


def _quoted(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _MAX_QUOTED else text[:_MAX_QUOTED] + " ..."
