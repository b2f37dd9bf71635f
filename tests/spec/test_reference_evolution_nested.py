"""The reference under schema evolution inside columns: NULL structs, fields of one side, arrays and maps."""

from __future__ import annotations

import pytest
from reference_cases import DELTA, bag, merge, predicted, rejected

UPDATE_STAR = "WHEN MATCHED THEN UPDATE SET *"
INSERT_STAR = "WHEN NOT MATCHED THEN INSERT *"
XYZ = "k INT, s STRUCT<y: INT, z: INT>"
XY = "k INT, s STRUCT<x: INT, y: INT>"


_EXPLICIT = "WHEN MATCHED THEN UPDATE SET s = s.s"


@pytest.mark.parametrize(
    ("clauses", "old", "given", "new"),
    [
        # the table of R-244, row by row; fields of the result: y, z, x
        (_EXPLICIT, {"y": 2, "z": 2}, None, None),
        (_EXPLICIT, {"y": 2, "z": 2}, {"x": 5, "y": 6}, (6, None, 5)),
        (UPDATE_STAR, None, None, None),
        (UPDATE_STAR, None, {"x": 5, "y": 6}, (6, None, 5)),
        (UPDATE_STAR, {"y": 2, "z": 2}, None, (None, 2, None)),
        (UPDATE_STAR, {"y": 2, "z": 2}, {"x": 5, "y": 6}, (6, 2, 5)),
    ],
)
def test_null_structs_and_target_only_fields(clauses: str, old: object, given: object, new: object) -> None:
    """R-244: explicit assignments nullify target-only fields, UPDATE * preserves them."""
    reference = merge(
        clauses.replace("s = s.s", "t.s = src.s"),
        target=[[1, old]],
        source=[[1, given]],
        schema=XYZ,
        source_schema=XY,
        on="t.k = src.k",
        evolution=True,
        source_alias="src",
    )

    assert predicted(reference).rows == ((1, new),)


@pytest.mark.parametrize(
    ("flags", "explicit", "star"),
    [
        ({}, None, (None, 2, None)),
        ({"merge.preserveNullSourceStructs": "false"}, (None, None, None), (None, 2, None)),
    ],
)
def test_null_struct_switches(flags: dict[str, str], explicit: object, star: object) -> None:
    """R-244: with the switch off a NULL struct expands to a struct of NULLs."""
    conf = {f"{DELTA}{name}": value for name, value in flags.items()}
    for clauses, new in (("WHEN MATCHED THEN UPDATE SET t.s = src.s", explicit), (UPDATE_STAR, star)):
        reference = merge(
            clauses,
            target=[[1, {"y": 2, "z": 2}]],
            source=[[1, None]],
            schema=XYZ,
            source_schema=XY,
            on="t.k = src.k",
            evolution=True,
            source_alias="src",
            conf=conf,
        )
        assert predicted(reference).rows == ((1, new),)


@pytest.mark.parametrize(
    ("clauses", "new"),
    [("WHEN MATCHED THEN UPDATE SET t.s = s.s", None), (UPDATE_STAR, (None, None))],
    ids=["as-a-whole", "field-by-field"],
)
def test_null_stays_null_where_types_are_equal(clauses: str, new: object) -> None:
    """R-245: equal struct types are not rebuilt, whatever the switch; R-244: with it off, the star assigns fields."""
    reference = merge(
        clauses,
        target=[[1, {"y": 2, "z": 2}]],
        source=[[1, None]],
        schema=XYZ,
        source_schema="k INT, s STRUCT<Y: INT, Z: INT>",
        evolution=True,
        conf={f"{DELTA}merge.preserveNullSourceStructs": "false"},
    )

    assert predicted(reference).rows == ((1, new),)


@pytest.mark.parametrize(("star", "copied"), [("true", (None, None)), ("false", (None, None)), (None, (None, None))])
def test_the_star_s_switch_does_nothing_alone(star: str | None, copied: object) -> None:
    """R-244: a copied NULL struct expands if its file is rewritten; on its own the star's switch preserves nothing."""
    name = f"{DELTA}merge.preserveNullSourceStructs"
    conf = {name: "false"} if star is None else {name: "false", f"{name}.updateStar": star}
    reference = merge(
        UPDATE_STAR,
        target=[[1, {"a": 1}], [5, None]],
        source=[[1, None]],
        schema="k INT, s STRUCT<a: INT>",
        source_schema="k INT, s STRUCT<a: INT, z: INT>",
        evolution=True,
        conf=conf,
    )

    assert sorted(predicted(reference).rows) == [(1, (None, None)), (5, copied)]


def test_structs_in_arrays_and_maps_evolve() -> None:
    """R-234, R-241: elements of copied rows get the new field as NULL; NULL elements stay NULL."""
    answer = predicted(
        merge(
            INSERT_STAR + " WHEN MATCHED AND FALSE THEN DELETE",
            target=[[1, [{"a": 1}, None], [["m", {"a": 2}], ["n", None]]], [2, None, None]],
            source=[[1, [], []], [9, [{"b": "x", "a": 3}], [["q", {"b": "y", "a": 4}]]]],
            schema="k INT, r ARRAY<STRUCT<a: INT>>, m MAP<STRING, STRUCT<a: INT>>",
            source_schema="k INT, r ARRAY<STRUCT<b: STRING, a: INT>>, m MAP<STRING, STRUCT<b: STRING, a: INT>>",
            evolution=True,
        )
    )

    assert answer.schema.ddl() == (
        "k INT, r ARRAY<STRUCT<a: INT, b: STRING>>, m MAP<STRING, STRUCT<a: INT, b: STRING>>"
    )
    assert bag(answer.rows) == bag(
        (
            (1, ((1, None), None), (("m", (2, None)), ("n", None))),
            (2, None, None),
            (9, ((3, "x"),), (("q", (4, "y")),)),
        )
    )


def test_struct_fields_without_evolution() -> None:
    """R-242, R-243: by name at every depth; other field sets are refused."""
    reordered = merge(UPDATE_STAR, target=[[1, {"y": 1, "z": 2}]], source=[[1, {"z": 8, "Y": 7}]], schema=XYZ,
                      source_schema="k INT, s STRUCT<z: INT, Y: INT>")  # fmt: skip
    other = merge(UPDATE_STAR, target=[[1, None]], source=[[1, None]], schema=XYZ, source_schema=XY)

    assert predicted(reordered).rows == ((1, (7, 8)),)
    assert rejected(other) == "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION"


def test_nested_field_that_only_the_source_has() -> None:
    """R-231, R-233: ``SET s.x = ...`` adds the one field; other rows get it as NULL."""
    answer = predicted(
        merge(
            "WHEN MATCHED THEN UPDATE SET s.x = src.s.x + 1",
            target=[[1, {"y": 1, "z": 2}], [2, {"y": 3, "z": 4}], [3, None]],
            source=[[1, {"w": 0, "x": 5, "y": 6}], [3, {"w": 0, "x": 7, "y": 6}]],
            schema=XYZ,
            source_schema="k INT, s STRUCT<w: INT, x: INT, y: INT>",
            on="t.k = src.k",
            evolution=True,
            source_alias="src",
        )
    )

    assert answer.schema.ddl() == "k INT, s STRUCT<y: INT, z: INT, x: INT>"
    # the NULL struct of row 3 becomes a struct whose other fields are NULL
    assert bag(((1, (1, 2, 6)), (2, (3, 4, None)), (3, (None, None, 8)))) == bag(answer.rows)


def test_new_field_of_a_column_in_other_case() -> None:
    """R-113, R-233: ``SET S.x = ...`` finds the column ``s``, also if the field is new."""
    answer = predicted(
        merge(
            "WHEN MATCHED THEN UPDATE SET S.x = NULL",
            target=[[1, {"y": 1, "z": 2}]],
            source=[[1, {"x": 5, "y": 6}]],
            schema=XYZ,
            source_schema=XY,
            on="t.k = src.k",
            evolution=True,
            source_alias="src",
        )
    )

    assert answer.schema.ddl() == "k INT, s STRUCT<y: INT, z: INT, x: INT>"
    assert answer.rows == ((1, (1, 2, None)),)
