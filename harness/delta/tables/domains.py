"""The metadata domains of a case's target (R-708)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mergecheck.harness.delta.tables.protocol import features_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.model.case import Target

_CLUSTERING = "delta.clustering"
_OWN = "mergecheck.case"


def domain_actions(target: Target, clustered_by: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the domains: the domain of a clustered table, and one that only the harness knows.

    Args:
        target: the table.
        clustered_by: the names of the clustering columns in files.
    """
    if "domainMetadata" in features_of(target):
        yield _action(_OWN, {"what": "the target of a case"})
    if clustered_by:
        columns = [[name] for name in clustered_by]
        yield _action(_CLUSTERING, {"clusteringColumns": columns, "domainName": _CLUSTERING})


def _action(name: str, said: dict[str, Any]) -> dict[str, Any]:
    said = {"domain": name, "configuration": json.dumps(said, ensure_ascii=False), "removed": False}
    return {"domainMetadata": said}
