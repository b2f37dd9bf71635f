"""A case as a Python script for delta-rs (the package ``deltalake``)."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from mergecheck.harness.cli.export.decided import decided
from mergecheck.harness.cli.export.python_literals import arrow_schema_source, in_docstring, rows_source
from mergecheck.harness.engines.delta_rs.statement import merge_calls
from mergecheck.harness.engines.delta_rs.types import UntranslatableError
from mergecheck.model.outcome import Rejection
from mergecheck.model.schema_json import as_nullable, check_constraints
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from mergecheck.harness.engines.delta_rs.statement import MergeCalls
    from mergecheck.model.case import Case

_NEEDS_A_FEATURE = (
    "delta.feature.",
    "delta.enableDeletionVectors",
    "delta.enableInCommitTimestamps",
    "delta.enableRowTracking",
    "delta.enableTypeWidening",
    "delta.rowTrackingSuspended",
)
"""How the properties begin that ``DeltaTable.create`` does not take, or with which no reader of Arrow reads a table."""
_HEAD = '''"""Case {name}: a merge on delta-rs. Run it with deltalake and pyarrow installed."""

import datetime  # noqa: F401
import tempfile
from decimal import Decimal  # noqa: F401

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
{table}

path = tempfile.mkdtemp()
'''
_TEST_HEAD = '''"""Case {name}: a merge, with the rows that mergecheck derives."""

import datetime  # noqa: F401
from decimal import Decimal  # noqa: F401

import pyarrow as pa
import pytest  # noqa: F401
from deltalake import DeltaTable, write_deltalake
{table}

def rows_of(table):
    return sorted(table.to_pylist(), key=repr)


def test_merge(tmp_path):
    path = str(tmp_path)
'''
_TABLE = """

def table(rows, schema):
    columns = list(zip(*rows)) if rows else [()] * len(schema)
    arrays = [pa.array(list(values), type=field.type) for values, field in zip(columns, schema)]
    return pa.Table.from_arrays(arrays, schema=schema)
"""
_CREATE = """\
target_schema = {schema}
DeltaTable.create(path, target_schema, partition_by={partition_by}, configuration={configuration})
"""
_TAIL = """
print(merger.execute())
# after a scan with threads, pyarrow may abort the process as Python ends
rows = DeltaTable(path).to_pyarrow_dataset().to_table(use_threads=False).to_pylist()
for row in rows:
    print(row)
"""
_EXPECTED = """\
{before}
found = DeltaTable(path).to_pyarrow_dataset().to_table(use_threads=False)
schema = {schema}
expected = table({rows}, schema)
assert found.column_names == expected.column_names
assert repr(rows_of(found.cast(schema))) == repr(rows_of(expected))
"""
_SUCCEEDS = "merger.execute()"
_FAILS = """\
with pytest.raises(Exception):  # noqa: B017 - delta-rs raises errors of several classes
    merger.execute()"""


def delta_rs_script(case: Case) -> str:
    """Write a case as a script that creates the table, merges and prints metrics and rows.

    Raises:
        UntranslatableError: if delta-rs, or the translation, has no equivalent expression.
    """
    head = _HEAD.format(name=in_docstring(case.id), table=_TABLE)
    return "".join([head, _merge(case), _TAIL])


def delta_rs_test(case: Case) -> str:
    """Write a case as a pytest module that needs deltalake and pyarrow alone, for the tests of delta-rs.

    The table must hold the reference's rows after the merge; NaN, and the sign of a zero, count. Of a merge that must
    fail it must hold the rows of before.

    Raises:
        UntranslatableError: see ``delta_rs_script``.
        UnsupportedByReferenceError: see ``decided``.
    """
    answer = decided(case)
    if isinstance(answer, Rejection):
        before, schema, rows = _FAILS, case.target.schema, case.target.rows
    else:
        before, schema, rows = _SUCCEEDS, answer.schema, answer.rows
    expected = _EXPECTED.format(
        before=before, schema=arrow_schema_source(as_nullable(schema)), rows=rows_source(rows, schema)
    )
    head = _TEST_HEAD.format(name=in_docstring(case.id), table=_TABLE)
    return head + textwrap.indent(_merge(case) + "\n" + expected, "    ")


def _merge(case: Case) -> str:
    """Write the lines that create the table at ``path`` and define ``merger``."""
    if case.target.transactions:
        raise UntranslatableError("what applications have committed before")
    if check_constraints(case.target.properties):
        raise UntranslatableError("CHECK constraints")
    for name in case.target.properties:
        if name.startswith(_NEEDS_A_FEATURE):
            raise UntranslatableError(f"the property {name}")
    calls = merge_calls(case, MergeReference())
    parts = [
        _CREATE.format(
            schema=arrow_schema_source(case.target.schema),
            partition_by=list(case.target.partition_by),
            configuration=dict(case.target.properties),
        )
    ]
    for file in case.target.files:
        if file:
            rows = rows_source(file, case.target.schema)
            parts.append(f'write_deltalake(path, table({rows}, target_schema), mode="append")\n')
    source = rows_source(calls.source_rows, calls.source_schema)
    parts.append(f"source = table({source}, {arrow_schema_source(calls.source_schema)})\n")
    return "".join([*parts, _merger(calls)])


def _merger(calls: MergeCalls) -> str:
    given: dict[str, Any] = {
        "predicate": calls.predicate,
        "source_alias": calls.source_alias,
        "target_alias": calls.target_alias,
        **calls.options,
    }
    source = "source.to_reader()" if calls.stream else "source"
    lines = ["merger = DeltaTable(path).merge(", f"    source={source},"]
    lines += [f"    {name}={value!r}," for name, value in given.items()]
    lines.append(")")
    for call, arguments in calls.clauses:
        lines.append(f"merger = merger.{call}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})")
    return "\n".join(lines)
