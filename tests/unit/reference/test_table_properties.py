"""The table properties that Delta Lake knows: names, values and meanings."""

from __future__ import annotations

import pytest

from mergecheck.model.errors import CaseFormatError
from mergecheck.model.table_properties import TABLE_PROPERTIES, Meaning, checked_properties, meaning_of


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.logRetentionDuration", "1 month"),
        ("delta.logRetentionDuration", "5 days"),  # shorter than deleted files are kept
        ("delta.deletedFileRetentionDuration", "interval -1 days"),
        ("delta.deletedFileRetentionDuration", "40 days"),
        ("delta.checkpointInterval", "0"),
        ("delta.checkpointInterval", " 5"),
        ("delta.checkpointPolicy", "V2"),
        ("delta.appendOnly", " true"),
        ("delta.appendOnly", "maybe"),
        ("delta.autoOptimize.autoCompact", "yes"),
        ("delta.isolationLevel", "none"),
        ("delta.dataSkippingNumIndexedCols", "-2"),
        ("delta.dataSkippingStatsColumns", "id,,v"),
        ("delta.randomPrefixLength", "0"),
        ("delta.minReaderVersion", "4"),
        ("delta.feature.deletionVectors", "off"),
    ],
)
def test_a_value_that_delta_lake_refuses_is_refused(name: str, value: str) -> None:
    """Each of these fails in CREATE TABLE of Delta Lake 4.4."""
    with pytest.raises(CaseFormatError, match=r"which Delta Lake refuses"):
        checked_properties({name: value}, "here")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"DELTA.APPENDONLY": "TRUE"}, {"delta.appendOnly": "TRUE"}),
        ({"delta.feature.DELETIONVECTORS": "supported"}, {"delta.feature.deletionVectors": "supported"}),
        ({"delta.checkpointInterval": "+5"}, {"delta.checkpointInterval": "+5"}),
        ({"delta.logRetentionDuration": "365 DAYS 2 hours"}, {"delta.logRetentionDuration": "365 DAYS 2 hours"}),
        ({"Owner": "us"}, {"Owner": "us"}),
    ],
)
def test_names_are_spelled_as_delta_lake_spells_them(given: dict[str, str], kept: dict[str, str]) -> None:
    """Case does not matter in the name of a property that Delta Lake knows; values stay as they are."""
    assert checked_properties(given, "here") == kept


def test_a_property_stands_there_once() -> None:
    """Two spellings of one property are one too many."""
    with pytest.raises(CaseFormatError, match="twice"):
        checked_properties({"delta.appendOnly": "true", "delta.appendonly": "false"}, "here")


@pytest.mark.parametrize(
    ("name", "value", "meaning"),
    [
        ("delta.targetFileSize", "128mb", Meaning.UNSEEN),
        ("delta.enableIcebergCompatV2", "false", Meaning.UNSEEN),
        ("delta.enableIcebergCompatV2", "true", Meaning.UNPREDICTED),
        ("delta.feature.catalogManaged", "supported", Meaning.UNPREDICTED),
        ("delta.constraints.c", "id > 0", Meaning.OBEYED),
        ("owner", "us", Meaning.UNSEEN),
        ("delta.fileSize", "1", None),
    ],
)
def test_what_a_property_means(name: str, value: str, meaning: Meaning | None) -> None:
    """A property that Delta Lake does not know is no harmless one: another release may obey it."""
    assert meaning_of(name, value) is meaning


def test_every_property_says_what_it_changes() -> None:
    """So that the table can be read."""
    assert all(each.changes for each in TABLE_PROPERTIES.values())
