"""The outer boundary: whatever is raised inside a merge leaves it as a ``MergeError`` that has the cause attached.

Most errors are translated where they are raised: errors of the log in ``table/log/log_errors``, errors of a disk or a
store in ``table/storage/object_store``, errors of Spark in ``expressions/spark_errors``. Errors that still arrive here
come from somewhere else in Spark or Python, or are defects of this package.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mergecheck.merge.errors import (
    InternalMergeError,
    MergeError,
    SparkFailedError,
    StoreError,
    UnsupportedStatementError,
    brief,
)
from mergecheck.merge.expressions.spark_errors import SPARK_ERRORS, from_spark

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def merge_errors(where: str) -> Iterator[None]:
    """Turn every error of a block into ours.

    Args:
        where: the table, for messages.

    Raises:
        MergeError: in place of any other exception.
    """
    try:
        yield
    except MergeError:
        raise
    except SPARK_ERRORS as error:
        raise from_spark(error) from error
    except ConnectionError as error:  # no process listens on the JVM's port
        raise SparkFailedError("SPARK_FAILED", brief(error)) from error
    except OSError as error:
        raise StoreError(brief(error), where=where) from error
    except RecursionError as error:
        raise UnsupportedStatementError("a statement that is nested so deeply") from error
    except Exception as error:
        raise InternalMergeError(error) from error
