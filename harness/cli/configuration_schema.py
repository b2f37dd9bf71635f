"""The JSON schema of the configuration, made from the options of the verbs and of the pytest plugin.

``python -m mergecheck.harness.cli.configuration_schema`` writes the file that mergecheck ships.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from mergecheck.harness import configuration
from mergecheck.harness.cli.configured.options import configured_options, option_schema, verbs_with_options
from mergecheck.harness.cli.verb_group import VerbGroup
from mergecheck.harness.configuration.schema import PROFILES, SCHEMA_FILE

# Keys at the top apply to these verbs. The others have options of the same names that mean something else.
SHARING = (
    *("run", "fuzz", "exhaust", "explain", "replay", "variants", "bisect", "matrix", "conform", "pytest", "merge-runs"),
    *("adopt", "export", "import", "shrink", "compare", "cases-list", "cases-show", "cases-prune", "cases-diff"),
)
# The pytest plugin's options are described as this verb's options with the same name.
_PYTEST_OPTIONS_OF = "fuzz"
_OF_PYTEST = (
    *("engine", "max-time", "case-timeout", "seed", "max-findings", "findings", "floor", "max-deviating", "steer"),
    *("batch", "jobs", "features-off", "focus", "check", "oracle", "expressions", "master", "remote", "table-root"),
    *("deviations", "no-deviations", "events", "observations", "baseline", "fail-if-worse"),
    *("focus-changed", "focus-paths", "boundary"),
)
_PYTEST_ONLY: dict[str, dict[str, Any]] = {
    "case": {
        "anyOf": [
            {"type": "string", "format": "path"},
            {"type": "array", "items": {"type": "string", "format": "path"}},
        ],
        "description": "Case files and folders of them; every case becomes a test.",
    },
    "fuzz": {"type": "integer", "minimum": 0, "default": 0, "description": "One test that runs N random cases."},
}


def build_schema() -> dict[str, Any]:
    """Return the schema; ``x-mergecheck-shared`` in it names the verbs that keys at the top apply to."""
    group = VerbGroup("mergecheck")
    verbs: dict[str, dict[str, Any]] = {
        name: {key: option_schema(option) for key, option in configured_options(command).items()}
        for name, command in verbs_with_options(group, click.Context(group))
    }
    fuzz = verbs[_PYTEST_OPTIONS_OF]
    verbs["pytest"] = {key: fuzz[key] for key in _OF_PYTEST} | _PYTEST_ONLY
    shared: dict[str, Any] = {}
    for verb in SHARING:
        for key, part in verbs.get(verb, {}).items():
            if verb != "pytest" or key in fuzz:
                shared[key] = _common(shared.get(key, part), part)
    tables: dict[str, Any] = {verb: {"$ref": f"#/$defs/{verb}"} for verb in verbs}
    properties = {**shared, **tables}
    profile = {"type": "object", "additionalProperties": False, "properties": properties}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mergecheck.toml, or [tool.mergecheck] of pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **properties,
            PROFILES: {"type": "object", "additionalProperties": {"$ref": "#/$defs/profile"}},
        },
        "$defs": {
            "profile": profile,
            **{
                verb: {"type": "object", "additionalProperties": False, "properties": keys}
                for verb, keys in verbs.items()
            },
        },
        "x-mergecheck-shared": [verb for verb in SHARING if verb in verbs],
    }


def schema_text() -> str:
    """Return the text of the shipped file."""
    return json.dumps(build_schema(), indent=1) + "\n"


def _common(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that both verbs accept: a single value if either takes no list."""
    return other if "anyOf" in one and "anyOf" not in other else one


def main() -> None:
    """Write the shipped file."""
    path = Path(configuration.__file__).parent / SCHEMA_FILE
    path.write_text(schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
