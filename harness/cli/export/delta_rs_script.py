"""A case as a Python script for delta-rs (the package ``deltalake``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.cli.export.python_literals import arrow_schema_source, in_docstring, rows_source
from mergecheck.harness.engines.delta_rs.statement import merge_calls
from mergecheck.harness.engines.delta_rs.types import UntranslatableError
from mergecheck.model.schema_json import check_constraints
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from mergecheck.harness.engines.delta_rs.statement import MergeCalls
    from mergecheck.model.case import Case

_HEAD = '''"""Case {name}: a merge on delta-rs. Run it with deltalake and pyarrow installed."""

import datetime  # noqa: F401
import tempfile
from decimal import Decimal  # noqa: F401

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake


def table(rows, schema):
    columns = list(zip(*rows)) if rows else [()] * len(schema)
    arrays = [pa.array(list(values), type=field.type) for values, field in zip(columns, schema)]
    return pa.Table.from_arrays(arrays, schema=schema)


path = tempfile.mkdtemp()
target_schema = {schema}
DeltaTable.create(path, target_schema, partition_by={partition_by}, configuration={configuration})
'''
_TAIL = """
print(merger.execute())
# after a scan with threads, pyarrow may abort the process as Python ends
rows = DeltaTable(path).to_pyarrow_dataset().to_table(use_threads=False).to_pylist()
for row in rows:
    print(row)
"""


def delta_rs_script(case: Case) -> str:
    """Write a case as a script that creates the table, merges and prints metrics and rows.

    Raises:
        UntranslatableError: if delta-rs, or the translation, has no equivalent expression.
    """
    if case.target.transactions:
        raise UntranslatableError("what applications have committed before")
    if check_constraints(case.target.properties):
        raise UntranslatableError("CHECK constraints")
    calls = merge_calls(case, MergeReference())
    parts = [
        _HEAD.format(
            name=in_docstring(case.id),
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
    return "".join([*parts, _merger(calls), _TAIL])


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
