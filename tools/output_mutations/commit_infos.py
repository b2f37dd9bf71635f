"""Other ``commitInfo`` of a merge: each differs in one entry that is compared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PREDICATES = ("matchedPredicates", "notMatchedPredicates", "notMatchedBySourcePredicates")


def other_commit_infos(info: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Give the ``commitInfo`` with one entry lost, and with other values of it.

    Args:
        info: as it is in the log.
        name: an entry by its name in ``reference.evaluation.commit_info``.
    """
    parameters = dict(info.get("operationParameters") or {})
    if name in ("predicate", *_PREDICATES):
        yield {**info, "operationParameters": {n: text for n, text in parameters.items() if n != name}}
        for text in _other_predicates(parameters[name]) if name in _PREDICATES else ("[]", '["a", "b"]', "t.a = s.b"):
            yield {**info, "operationParameters": {**parameters, name: text}}
    elif name == "operationParameters":
        yield {**info, "operationParameters": {**parameters, "updatePredicate": "a"}}
        yield {**info, "operationParameters": None}
    elif name not in info:
        yield {**info, name: 1}
    else:
        yield {n: value for n, value in info.items() if n != name}
        for value in _other_values(info[name], name):
            yield {**info, name: value}


def _other_predicates(text: str) -> Iterator[str]:
    """Give texts of other clauses: one more, one less, another action, a condition more or less, no JSON."""
    clauses = json.loads(text)
    yield json.dumps([*clauses, {"actionType": "delete"}])
    yield f"{clauses}"[1:]
    for place, clause in enumerate(clauses):
        others = (
            *(() if "predicate" not in clause else ({"actionType": clause["actionType"]},)),
            *(() if "predicate" in clause else ({**clause, "predicate": "a"},)),
            {**clause, "actionType": "insert" if clause["actionType"] != "insert" else "update"},
        )
        yield json.dumps([*clauses[:place], *clauses[place + 1 :]])
        yield from (json.dumps([*clauses[:place], other, *clauses[place + 1 :]]) for other in others)


def _other_values(value: Any, name: str) -> Iterator[Any]:  # noqa: ANN401 - JSON
    if isinstance(value, bool):
        yield not value
    elif name == "inCommitTimestamp":
        yield from (-1, str(value))
    elif isinstance(value, int):
        yield value + 1
    elif name in ("engineInfo", "txnId"):
        yield ""
    else:
        yield f"{value}~"
