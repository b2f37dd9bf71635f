"""Settings: the values that Delta Lake refuses, and those that this merge lacks."""

from __future__ import annotations

import pytest

from mergecheck.merge.conf import MaterializeSource, MergeConf
from mergecheck.merge.errors import InvalidConfigurationError, UnsupportedStatementError

DELTA = "spark.databricks.delta."


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"merge.materializeSource": "often"}, "INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS"),
        ({"write.txnAppId": "app"}, "DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS"),
        ({"write.txnVersion": "1"}, "DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS"),
    ],
)
def test_settings_that_delta_refuses_are_refused_with_its_class(settings: dict[str, str], error: str) -> None:
    """Delta's session refuses the first as it is set, so settings come from a mapping."""
    with pytest.raises(InvalidConfigurationError) as raised:
        MergeConf.from_settings({DELTA + name: value for name, value in settings.items()})
    assert raised.value.error_class == error


def test_the_version_of_a_transaction_is_not_reset() -> None:
    """Delta would unset it in the session (R-715); a merge here leaves settings alone."""
    with pytest.raises(UnsupportedStatementError, match="autoReset"):
        MergeConf.from_settings({DELTA + "write.txnVersion.autoReset.enabled": "true"})


def test_the_mode_of_materialising_is_read_in_any_case_of_letters() -> None:
    """R-450."""
    conf = MergeConf.from_settings({DELTA + "merge.materializeSource": "ALL"})
    assert conf.materialize_source is MaterializeSource.ALL
