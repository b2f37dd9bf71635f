"""Where a case comes from: the key ``origin`` of its file, which no verdict depends on.

It records who found the case, with which versions, from which draw, and how the engine differed then. So a replay can
check if the difference is still the same.
"""

from __future__ import annotations

import importlib.metadata
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.findings.fingerprint import Fingerprint, fingerprint
from mergecheck.harness.verdict import Check, Mismatch
from mergecheck.model.case_file import ORIGIN_KEY, case_to_json
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.json_shape import require_text

if TYPE_CHECKING:
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

_MAX_WIDTH = 110
_CHECKS = {check.value: check for check in Check}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a case comes from.

    Attributes:
        found_by: the verb.
        mergecheck: the version of mergecheck.
        engine: the name that starts the engine: a registered one, or ``package.module:Class``.
        engine_version: as the engine gives it.
        seed: of the run that drew the case; None if it was not drawn.
        number: of the drawn case in the stream of the seed.
        fingerprint: what makes the difference a finding of its own; None if the case is no finding.
        difference: how the engine differed.
    """

    found_by: str
    mergecheck: str
    engine: str = ""
    engine_version: str = ""
    seed: int | None = None
    number: int | None = None
    fingerprint: Fingerprint | None = None
    difference: tuple[Mismatch, ...] = ()


def origin_of(
    report: CaseReport, *, found_by: str, engine: str, seed: int | None = None, number: int | None = None
) -> Origin:
    """Derive a case's origin from its report, with the engine's differences.

    Args:
        report: the check of the case.
        found_by: the verb.
        engine: the name that starts the engine, if the report lacks it.
        seed: of the run that drew the case.
        number: of the drawn case in the stream of the seed.
    """
    return Origin(
        found_by=found_by,
        mergecheck=importlib.metadata.version("mergecheck"),
        engine=report.rerun.engine or engine,
        engine_version=report.engine_version,
        seed=seed,
        number=number,
        fingerprint=fingerprint(report),
        difference=report.mismatches,
    )


def case_text(case: Case, origin: Origin | None) -> str:
    """Write a case file for a person: what does not fit on a line is broken between its parts."""
    document = case_to_json(case)
    if origin is not None:
        document[ORIGIN_KEY] = origin_to_json(origin)
    return json_text(document)


def origin_in(document: dict[str, Any], where: str) -> Origin | None:
    """Read the origin from the parsed document of a case file; None if it has none.

    Unknown keys are ignored: they do not concern the merge, and newer versions may add some.

    Raises:
        CaseFormatError: a known key has a value of the wrong kind; ``where`` leads the message.
    """
    found = document.get(ORIGIN_KEY)
    if found is None:
        return None
    where = f"{where}, {ORIGIN_KEY}"
    known = {name: _text(found, name, where) for name in ("mergecheck", "engine", "engine_version")}
    difference = found.get("difference", [])
    if not isinstance(difference, list):
        raise CaseFormatError(f"{where}, difference: must be a list, given {difference!r:.80}")
    return Origin(
        found_by=require_text(found.get("found_by"), f"{where}, found_by"),
        seed=_whole_number(found, "seed", where),
        number=_whole_number(found, "number", where),
        fingerprint=_fingerprint(found.get("fingerprint"), f"{where}, fingerprint"),
        difference=tuple(_mismatch(each, f"{where}, difference {i}") for i, each in enumerate(difference)),
        **known,
    )


def origin_to_json(origin: Origin) -> dict[str, Any]:
    """Write an origin as JSON-ready data; unknown values are left out."""
    found: dict[str, Any] = {"found_by": origin.found_by, "mergecheck": origin.mergecheck}
    given = {
        "engine": origin.engine or None,
        "engine_version": origin.engine_version or None,
        "seed": origin.seed,
        "number": origin.number,
    }
    found |= {key: value for key, value in given.items() if value is not None}
    if origin.fingerprint is not None:
        found["fingerprint"] = {
            "engine": origin.fingerprint.engine,
            "check": origin.fingerprint.check.value,
            "against": origin.fingerprint.against,
            "kind": origin.fingerprint.kind,
            "detail": origin.fingerprint.detail,
        }
    if origin.difference:
        found["difference"] = [
            {"check": each.check.value, "against": each.against, "kind": each.kind, "lines": list(each.lines)}
            for each in origin.difference
        ]
    return found


def json_text(document: Any) -> str:  # noqa: ANN401 - any JSON
    """Write JSON with as much on each line as fits."""
    return "\n".join(_json_lines("", document, 0)) + "\n"


def _json_lines(label: str, value: Any, depth: int) -> list[str]:  # noqa: ANN401 - any JSON
    indent = "  " * depth
    flat = indent + label + json.dumps(value, ensure_ascii=False, allow_nan=False)
    if (len(flat) <= _MAX_WIDTH and depth > 0) or not isinstance(value, dict | list) or not value:
        return [flat]
    if isinstance(value, dict):
        parts = [
            _json_lines(f"{json.dumps(key, ensure_ascii=False)}: ", each, depth + 1) for key, each in value.items()
        ]
    else:
        parts = [_json_lines("", each, depth + 1) for each in value]
    lines = [f"{indent}{label}{'{' if isinstance(value, dict) else '['}"]
    for i, part in enumerate(parts):
        lines += part[:-1]
        lines.append(part[-1] + ("," if i < len(parts) - 1 else ""))
    return [*lines, indent + ("}" if isinstance(value, dict) else "]")]


def _mismatch(value: object, where: str) -> Mismatch:
    if not isinstance(value, dict):
        raise CaseFormatError(f"{where}: must be an object, given {value!r:.80}")
    lines = value.get("lines", [])
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise CaseFormatError(f"{where}, lines: must be a list of texts, given {lines!r:.80}")
    return Mismatch(
        check=_check(value.get("check"), where),
        against=require_text(value.get("against"), f"{where}, against"),
        kind=require_text(value.get("kind"), f"{where}, kind"),
        lines=tuple(lines),
    )


def _fingerprint(value: object, where: str) -> Fingerprint | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise CaseFormatError(f"{where}: must be an object, given {value!r:.80}")
    return Fingerprint(
        engine=_text(value, "engine", where),
        check=_check(value.get("check"), where),
        against=_text(value, "against", where),
        kind=_text(value, "kind", where),
        detail=_text(value, "detail", where),
    )


def _check(value: object, where: str) -> Check:
    if not isinstance(value, str) or value not in _CHECKS:
        raise CaseFormatError(f"{where}, check: must be one of {', '.join(_CHECKS)}; given {value!r:.80}")
    return _CHECKS[value]


def _text(found: dict[str, Any], name: str, where: str) -> str:
    value = found.get(name, "")
    if not isinstance(value, str):
        raise CaseFormatError(f"{where}, {name}: must be text, given {value!r:.80}")
    return value


def _whole_number(found: dict[str, Any], name: str, where: str) -> int | None:
    value = found.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise CaseFormatError(f"{where}, {name}: must be a whole number, given {value!r:.80}")
    return value
