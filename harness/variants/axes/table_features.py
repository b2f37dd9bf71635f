"""The places on the axes of table features: the same rows under another protocol, which no result may show."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.variants.axes.axis import REWRITTEN, WRITTEN, Axis, AxisValue, Exemption
from mergecheck.model.storage import Vectors
from mergecheck.reference.analysis.settings import COLUMN_MAPPING, DELETION_VECTORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts

_VECTOR_METRICS = frozenset(f"numTargetDeletionVectors{what}" for what in ("Added", "Removed", "Updated"))


def _has_columns_and_not(name: str) -> Callable[[Case, Facts], bool]:
    return lambda case, _facts: bool(case.target.schema.columns) and name not in case.target.properties


def _with_property(name: str, value: str) -> Callable[[Case], Case]:
    def rewrite(case: Case) -> Case:
        return replace(case, target=replace(case.target, properties={**case.target.properties, name: value}))

    return rewrite


def _has_no_vectors(case: Case, _facts: Facts) -> bool:
    return bool(case.target.schema.columns) and case.target.layout.vectors is Vectors.NONE


def _with_old_vectors(case: Case) -> Case:
    return replace(case, target=replace(case.target, layout=replace(case.target.layout, vectors=Vectors.OWN_FILES)))


FEATURES: tuple[AxisValue, ...] = (
    AxisValue(
        axis=Axis.VECTORS,
        name="on",
        sentence="changed rows are marked in deletion vectors, and their files stay",
        rewrite=_with_property(DELETION_VECTORS, "true"),
        domain="a target with columns that has no such property",
        holds=_has_columns_and_not(DELETION_VECTORS),
        exemptions=(
            Exemption(
                rules=("R-460", "R-461", "R-462"),
                metrics=WRITTEN | REWRITTEN | _VECTOR_METRICS,
                observables=frozenset({"path"}),
            ),
        ),
    ),
    AxisValue(
        axis=Axis.VECTORS,
        name="old",
        sentence="the files hold rows that deletion vectors have taken away before",
        rewrite=_with_old_vectors,
        domain="a target with columns whose files have no vectors",
        holds=_has_no_vectors,
        exemptions=(Exemption(rules=("R-460",), metrics=_VECTOR_METRICS),),
    ),
    *(
        AxisValue(
            axis=Axis.COLUMN_MAPPING,
            name=mode,
            sentence=f"the columns have other names in the files, which are found by {mode}",
            rewrite=_with_property(COLUMN_MAPPING, mode),
            domain="a target with columns that has no such property",
            holds=_has_columns_and_not(COLUMN_MAPPING),
        )
        for mode in ("name", "id")
    ),
)
