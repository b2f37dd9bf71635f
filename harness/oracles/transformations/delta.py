"""Delta Lake's own switches of a merge: settings that change how it runs."""

from __future__ import annotations

from mergecheck.harness.oracles.transformations import domains
from mergecheck.harness.oracles.transformations.tables import REWRITTEN, WRITTEN
from mergecheck.merge import conf
from mergecheck.model.axis import Axis, MayChange, Transformation

FILES_WRITTEN = MayChange(WRITTEN, ("R-542", "R-543", "R-550"))
# Where rows are not gathered, each task of the last join writes a file; an outer nested loop has one more of them.
OTHER_TASKS = MayChange(WRITTEN, ("R-542",))
ANY_NUMBER_OF_FILES = {conf.REPARTITION_BEFORE_WRITE: "false"}  # the reference's numbers of files are bounds then

MATCHED_ONLY_OFF = Transformation(
    name="off",
    sentence="a matched-only merge rewrites by a full outer join",
    settings={conf.OPTIMIZE_MATCHED_ONLY: "false"},
    judged_as={conf.OPTIMIZE_MATCHED_ONLY: "false"},
    domain="MATCHED clauses only; no random values",
    applies_to=domains.matches_only,
    may_change=(OTHER_TASKS,),
)
DELTA_AXES: tuple[Axis, ...] = (
    Axis(
        "insert-only",
        favours=("insert-only", "conditions"),
        base="on",
        values=(
            Transformation(
                name="off",
                sentence="an insert-only merge takes the classic path",
                settings={conf.OPTIMIZE_INSERT_ONLY: "false"},
                judged_as={conf.OPTIMIZE_INSERT_ONLY: "false"},
                domain="insert clauses only",
                applies_to=domains.having("insert-only"),
                may_change=(
                    MayChange(WRITTEN | REWRITTEN | {"commit", "path"}, ("R-550", "R-402", "R-731")),
                    MayChange(frozenset({domains.AMBIGUOUS}), ("R-320",)),
                    MayChange(frozenset({domains.APPEND_ONLY}), ("R-743",)),  # the classic path rewrites files
                ),
            ),
        ),
    ),
    Axis("matched-only", favours=("matched-only",), base="on", values=(MATCHED_ONLY_OFF,)),
    Axis(
        "repartition",
        base="on",
        values=(
            Transformation(
                name="off",
                sentence="rows are written by the tasks that have them",
                settings={conf.REPARTITION_BEFORE_WRITE: "false"},
                judged_as=ANY_NUMBER_OF_FILES,
                may_change=(FILES_WRITTEN,),
            ),
        ),
    ),
    Axis(
        "optimize-write",
        values=(
            Transformation(
                name="on",
                sentence="an optimised write arranges the rows",
                settings={conf.OPTIMIZE_WRITE: "true"},
                judged_as=ANY_NUMBER_OF_FILES,
                may_change=(FILES_WRITTEN,),
            ),
        ),
    ),
    Axis(
        "materialize",
        base="auto",
        values=(
            Transformation(
                name="all",
                sentence="the source is materialised",
                settings={conf.MATERIALIZE_SOURCE: "all"},
                paths=("materialized",),
                plan=("ExistingRDD",),
            ),
            Transformation(
                name="none",
                sentence="the source is read for each scan",
                settings={conf.MATERIALIZE_SOURCE: "none"},
            ),
        ),
    ),
)
