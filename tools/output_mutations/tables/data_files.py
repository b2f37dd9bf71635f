"""Changes of one file: a data file in another form or with other rows, and files changed, lost or left behind."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from mergecheck.harness.delta.tables.column_names import FIELD_ID, PHYSICAL_NAME, maps_columns
from mergecheck.harness.delta.tables.row_ids import stored_id_columns
from mergecheck.harness.delta.tables.vectors import vector_file
from tools.output_mutations.tables.written import Mutant, file_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.output_mutations.tables.written import Action, WrittenTable

_FORM = "the columns of Parquet files may be {} (R-719)"
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


def data_file_mutants(table: WrittenTable) -> Iterator[Mutant]:
    """Rewrite one data file or change file that the merge wrote."""
    for place, kind, _, rows in _new_files(table):
        for word, other, options in (*_forms(rows, table), *_other_rows(rows, _unread(table))):
            content = _parquet(other, **options)
            yield Mutant(kind=f"{kind} file: {word}", files=table.rewriting(place, content))


def legal_data_file_mutants(table: WrittenTable) -> Iterator[Mutant]:
    """Rewrite one data file in another form that Delta's protocol, and Parquet, leave to the writer."""
    for place, kind, file, rows in _new_files(table):
        for word, other, options in _legal_forms(rows):
            if kind == "cdc" and word == "without a column of NULLs":
                continue
            content = _parquet(other, **options)
            if content != table.contents[file_name(file)]:
                files = table.rewriting(place, content)
                yield Mutant(kind=f"{kind} file: {word}", files=files, reason=_FORM.format(word))


def folder_mutants(table: WrittenTable) -> Iterator[Mutant]:
    """Change, lose or leave a file that is no commit of the merge."""
    added = {file_name(file) for _, _, file, _ in _new_files(table)}
    vectors = dict(_vectors(table))
    for name, content in table.contents.items():
        if name in table.before.digests:
            what = "an earlier commit" if name.endswith(".json") else "an earlier file"
            if "_last_checkpoint" not in name:
                yield Mutant(kind=f"{what} has another content", files={name: content + b"\n"})
                yield Mutant(kind=f"{what} is gone", files={name: None})
        elif name in added:
            yield Mutant(kind="a new file is gone", files={name: None})
            yield Mutant(kind="a new file is cut off", files={name: content[:-9]})
            yield Mutant(kind="a new file is named by nobody", files={f"x{name.replace('/', '-')}": content})
        elif name in vectors:
            for place in vectors[name]:
                changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
                yield Mutant(kind="a bit of a file of vectors", files={name: changed})
    log = table.contents[table.log_file]
    yield Mutant(
        kind="one more commit", files={f"_delta_log/{table.version + 1:020}.json": log.split(b"\n")[0] + b"\n"}
    )
    yield Mutant(
        kind="a commit has another name", files={table.log_file: None, f"_delta_log/{table.version}.json": log}
    )
    yield Mutant(kind="the commit is cut off", files={table.log_file: log[:-3]})
    yield Mutant(kind="a file of the log that nobody knows", files={f"_delta_log/{table.version:020}.jsonl": log})


def _vectors(table: WrittenTable) -> Iterator[tuple[str, range]]:
    """Return the files of the new vectors, and their offsets; Delta Lake leaves other vectors in the files."""
    for action in table.actions:
        said = action.get("add", {}).get("deletionVector")
        file = vector_file(table.path, said)
        if file is not None and (name := file.relative_to(table.path).as_posix()) not in table.before.digests:
            start = said.get("offset") or 0
            yield name, range(start, start + said["sizeInBytes"] + 8, 7)


def legal_folder_mutants(_: WrittenTable) -> Iterator[Mutant]:
    """Leave files that no reader looks at."""
    hidden = "readers pass over names that begin with _ or a dot"
    for name in (".part-0.parquet.crc", "_temporary/0/part-0.parquet"):
        yield Mutant(kind="a hidden file is left", files={name: b"x"}, reason=hidden)


def _new_files(table: WrittenTable) -> Iterator[tuple[int, str, Action, pa.Table]]:
    for place, action in enumerate(table.actions):
        for kind in ("add", "cdc"):
            if (file := action.get(kind)) is not None and file_name(file) not in table.before.digests:
                source = pa.BufferReader(table.contents[file_name(file)])
                parquet = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
                rows = parquet.read(use_threads=False)
                leaves = (parquet.schema.column(number) for number in range(len(parquet.schema)))
                if any(leaf.physical_type == "INT96" for leaf in leaves):  # which has no zone
                    if "timestamp_ntz" in table.metadata["schemaString"]:
                        continue
                    rows = rows.cast(pa.schema([field.with_type(_zoned(field.type)) for field in rows.schema]))
                yield place, kind, file, rows


def _zoned(kind: pa.DataType) -> pa.DataType:
    """Give moments their zone, at any depth."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([member.with_type(_zoned(member.type)) for member in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_zoned(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_zoned(kind.key_type), kind.item_field.with_type(_zoned(kind.item_type)))
    return kind


def _parquet(rows: pa.Table, **options: Any) -> bytes:  # noqa: ANN401 - types of pyarrow
    out = io.BytesIO()
    pq.write_table(rows, out, **({"store_schema": False, "store_decimal_as_integer": True} | options))
    return out.getvalue()


def _forms(rows: pa.Table, table: WrittenTable) -> Iterator[tuple[str, pa.Table, dict[str, Any]]]:
    for place, field in enumerate(rows.schema):
        for word, kind in _other_types(field.type):
            try:
                column = rows.column(place).cast(kind)
            except pa.ArrowException:
                continue
            typed = field.with_type(kind)
            yield word, rows.set_column(place, typed, column), {}
        if pa.types.is_list(field.type) and field.type.value_field.name == "element":
            other = field.with_type(pa.list_(field.type.value_field.with_name("item")))
            renamed = rows.cast(rows.schema.set(place, other))
            yield "the elements of a list have another name", renamed, {"use_compliant_nested_type": False}
        yield (
            "a column is renamed",
            rows.rename_columns([f"{name}_" if name == field.name else name for name in rows.column_names]),
            {},
        )
        if FIELD_ID in (field.metadata or {}) and maps_columns(table.metadata.get("configuration") or {}):
            yield "a field id is missing", rows.cast(rows.schema.set(place, field.remove_metadata())), {}
            other = field.with_metadata({FIELD_ID: b"9999"})
            yield "a field id is another", rows.cast(rows.schema.set(place, other)), {}
    helper = pa.array(range(rows.num_rows), pa.int32())
    yield "a helper column", rows.append_column("__helper", helper), {}
    configuration = table.metadata.get("configuration") or {}
    for name in table.metadata["partitionColumns"]:
        others = rows.select([one for one in rows.column_names if one != name])
        yield "a partition column with another value", others.append_column(name, pa.array(["~"] * rows.num_rows)), {}
    if configuration.get("delta.enableChangeDataFeed") != "true":
        types = pa.array(["insert"] * rows.num_rows)
        yield "types of changes in a data file", rows.append_column("_change_type", types), {}


def _other_types(kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Give types in which the values are the same, or nearly, and the column is another one for other readers."""
    if kind in _INTEGERS:
        for other in _INTEGERS:
            if other != kind:
                yield f"{kind} is {other}", other
        yield f"{kind} is a decimal", pa.decimal128(20, 0)
        yield f"{kind} is double", pa.float64()
        yield f"{kind} is unsigned", {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[kind.bit_width]
        yield f"{kind} is text", pa.string()
    elif pa.types.is_decimal(kind):
        if kind.precision < 38:  # noqa: PLR2004 - the most digits
            yield "a decimal has one more digit", pa.decimal128(kind.precision + 1, kind.scale)
            yield "a decimal has one more digit behind the point", pa.decimal128(kind.precision + 1, kind.scale + 1)
        yield "a decimal is double", pa.float64()
        yield "a decimal is text", pa.string()
    elif pa.types.is_timestamp(kind):
        yield "a moment has no zone, or one", pa.timestamp("us", None if kind.tz else "UTC")
        yield "a moment is in milliseconds", pa.timestamp("ms", kind.tz)
        yield "a moment is in nanoseconds", pa.timestamp("ns", kind.tz)
        yield "a moment is a number", pa.int64()
    elif pa.types.is_date(kind):
        yield "a day is a moment", pa.timestamp("us")
        yield "a day is a number", pa.int32()
    elif pa.types.is_string(kind):
        yield "text is bytes", pa.binary()
    elif pa.types.is_binary(kind):
        yield "bytes are text", pa.string()
    elif kind == pa.float32():
        yield "float is double", pa.float64()
    elif kind == pa.float64():
        yield "double is float", pa.float32()
        yield "double is text", pa.string()
    elif pa.types.is_boolean(kind):
        yield "boolean is a number", pa.int32()
        yield "boolean is text", pa.string()
    elif pa.types.is_struct(kind):
        for number, member in enumerate(kind):
            for word, other in _other_types(member.type):
                fields = [*kind]
                fields[number] = member.with_type(other)
                yield f"in a struct {word}", pa.struct(fields)
    elif pa.types.is_map(kind):
        for word, other in _other_types(kind.item_type):
            yield f"in a map {word}", pa.map_(kind.key_type, kind.item_field.with_type(other))
    elif pa.types.is_list(kind):
        for word, other in _other_types(kind.value_type):
            yield f"in a list {word}", pa.list_(kind.value_field.with_type(other))


def _unread(table: WrittenTable) -> frozenset[str]:
    """Name the columns of files that readers take from elsewhere, or do not look at."""
    metadata = table.metadata
    partitions = (
        field
        for field in json.loads(metadata["schemaString"])["fields"]
        if field["name"] in metadata["partitionColumns"]
    )
    names = ((field.get("metadata") or {}).get(PHYSICAL_NAME, field["name"]) for field in partitions)
    return frozenset({"_change_type", "__is_cdc", *names, *stored_id_columns(metadata.get("configuration") or {})})


def _other_rows(rows: pa.Table, unread: frozenset[str]) -> Iterator[tuple[str, pa.Table, dict[str, Any]]]:
    if rows.num_rows:
        yield "a row is lost", rows.slice(1), {}
        yield "a row is there twice", pa.concat_tables([rows, rows.slice(0, 1)]), {}
    for place, field in enumerate(rows.schema):
        column = rows.column(place)
        if column.null_count < rows.num_rows and field.name not in unread:
            yield "a column is NULL", rows.set_column(place, field, pa.nulls(rows.num_rows, field.type)), {}
            yield "a column with values is missing", rows.drop_columns([field.name]), {}


def _legal_forms(rows: pa.Table) -> Iterator[tuple[str, pa.Table, dict[str, Any]]]:
    yield "compressed otherwise", rows, {"compression": "zstd"}
    yield "of version 1 of the format", rows, {"version": "1.0"}
    yield "without dictionaries", rows, {"use_dictionary": False}
    yield "in row groups of a row", rows, {"row_group_size": 1}
    yield "with DECIMALs as bytes", rows, {"store_decimal_as_integer": False}
    yield "with Arrow's schema", rows, {"store_schema": True}
    if any(pa.types.is_timestamp(kind) and kind.tz for kind in rows.schema.types):
        yield "with moments of 96 bits", rows, {"use_deprecated_int96_timestamps": True}
    yield "in another order", rows.select(rows.column_names[::-1]), {}
    empty = [name for name in rows.column_names if rows.column(name).null_count == rows.num_rows]
    if empty and len(empty) < rows.num_columns:
        yield "without a column of NULLs", rows.drop_columns(empty[:1]), {}
