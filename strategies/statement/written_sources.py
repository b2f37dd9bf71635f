"""The source as people write it: rows deduplicated by a window, joined, grouped, exploded, looked up in the target.

As in ``source_queries``, the table behind a query is computed backwards from the rows that the statement sees, with
further rows that the query leaves out or brings together. So the merge that was drawn keeps its meaning. Drawn after
everything else, so that a case without these forms stays the same case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.case import Source
from mergecheck.model.layout import physical_rows
from mergecheck.model.types import data_types as t
from mergecheck.model.types.data_types import Field, Schema, quote
from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import SOURCE_FORMS, SPARK_FORMS, Feature
from mergecheck.strategies.profile import written_percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Row, Target, Value
    from mergecheck.strategies.profile import Profile
    from mergecheck.strategies.statement.merges import DrawnMerge
    from mergecheck.strategies.syntax.statement import Statement

_MOST_ROWS = 40
_MOST_COPIES = 3
_FEW = st.integers(0, _MOST_COPIES)
_INTEGERS = (t.INT, t.BIGINT)
_KEY_TYPES = (t.INT, t.BIGINT, t.SMALLINT, t.TINYINT, t.STRING, t.DATE)
"""Types whose values are equal if they are the same, in a join, a group and a partition of a window."""
_ORDERED = (*_KEY_TYPES, t.BOOLEAN, t.TIMESTAMP, t.BINARY)
_SMALL = 10_000


@dataclass(frozen=True, slots=True)
class _Form:
    """A query, the columns that its table has beside the source's, and the rows of that table."""

    text: str
    added: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class _WithTable:
    """A query over the source and a further table; see ``_Form``."""

    text: str
    added: tuple[str, ...]
    rows: tuple[Row, ...]
    table: Source


@dataclass(frozen=True, slots=True)
class _Seen:
    """The source as the statement sees it, and the target that a query may look things up in.

    Attributes:
        columns: of the source.
        rows: of the source.
        keys: the key columns of the source, each with the target column that it is compared with.
        target: the target of the merge.
        asks: whether Spark is asked for the rows of queries that the reference has no translation for.
    """

    columns: tuple[Field, ...]
    rows: tuple[Row, ...]
    keys: tuple[tuple[str, str], ...]
    target: Target
    asks: bool

    @property
    def listed(self) -> str:
        return self.list_of("")

    def list_of(self, table: str) -> str:
        return ", ".join(f"{table}{quote(column.name)}" for column in self.columns)

    def place(self, name: str) -> int:
        return next(place for place, column in enumerate(self.columns) if column.name == name)

    @property
    def unique_keys(self) -> tuple[str, ...]:
        """The key columns if no two rows have the same, and if equal values of theirs are the same; else none."""
        places = [self.place(name) for name, _ in self.keys]
        simple = all(self.columns[place].type in _KEY_TYPES for place in places)
        found = [tuple(row[place] for place in places) for row in self.rows]
        return tuple(name for name, _ in self.keys) if simple and len(set(found)) == len(found) else ()


def draw_written_source(
    draw: DrawFn, profile: Profile, merge: DrawnMerge, target: Target, source: Source | None
) -> tuple[Source | None, Statement]:
    """Draw a query in place of a source that is a table; shrinks to the table as it is.

    Args:
        draw: Hypothesis'.
        profile: names the forms.
        merge: has the statement; nothing is drawn unless it reads the source by its name.
        target: the target's columns and rows, which the query may read besides the source.
        source: the source as the statement reads it; None for the target itself.
    """
    statement = merge.statement
    drawn = [feature for feature in SOURCE_FORMS if chance(draw, written_percent(profile, feature))]
    if not drawn or Feature.SUBQUERY_SOURCE in profile.disabled or source is None or not _allows(merge, target, source):
        return source, statement
    seen = _Seen(
        columns=source.schema.columns,
        rows=source.rows,
        keys=tuple((of_source, of_target) for of_target, of_source in merge.schemas.keys),
        target=target,
        asks=not profile.written_forms.isdisjoint(SPARK_FORMS),
    )
    forms = [form for feature in drawn for form in _FORMS.get(feature, ())]
    form = draw(st.sampled_from(forms))(draw, seen) if forms else None
    if form is None:
        form = _Form(f"SELECT {seen.listed} FROM source", (), source.rows)
    text = form.text
    if Feature.SOURCE_WITH in drawn:
        text = _named(draw, seen, text)
    columns = tuple(replace(column, nullable=True) for column in source.schema.columns)
    source = replace(
        source, schema=Schema((*columns, *(Field(name, t.INT) for name in form.added))), rows=tuple(form.rows)
    )
    aliases = statement.aliases if statement.aliases.source is not None else replace(statement.aliases, source="s")
    return source, replace(statement, source_query=text, aliases=aliases)


def draw_third_tables(
    draw: DrawFn, profile: Profile, merge: DrawnMerge, target: Target, source: Source | None
) -> tuple[Mapping[str, Source], Source | None, Statement]:
    """Draw a table beside target and source that is the source, or that a query of the source reads.

    Args:
        draw: Hypothesis'.
        profile: says how often.
        merge: has the statement; nothing is drawn unless it reads the source by its name.
        target: the target's columns and rows.
        source: the source as the statement reads it; None for the target itself.

    Returns:
        The tables by their names, the source, and the statement.
    """
    statement = merge.statement
    wanted = chance(draw, written_percent(profile, Feature.THIRD_TABLES))
    if not wanted or Feature.SUBQUERY_SOURCE in profile.disabled or source is None:
        return {}, source, statement
    if not _allows(merge, target, source):
        return {}, source, statement
    name = draw(st.sampled_from(("dim", "lookup", "staging")))
    aliases = statement.aliases if statement.aliases.source is not None else replace(statement.aliases, source="s")
    form = draw(st.sampled_from(_THIRD_FORMS))
    if form is None:  # the table takes the source's place, beside another source or none
        decoy = draw(st.sampled_from((None, replace(source, rows=()), replace(source, rows=source.rows[:1] * 2))))
        table = Source(schema=source.schema, rows=source.rows)
        return {name: table}, decoy, replace(statement, source_table=name, aliases=aliases)
    columns = tuple(replace(column, nullable=True) for column in source.schema.columns)
    seen = _Seen(columns=columns, rows=source.rows, keys=(), target=target, asks=False)
    read = form(draw, seen, name)
    schema = Schema((*columns, *(Field(added, t.INT) for added in read.added)))
    source = replace(source, schema=schema, rows=tuple(read.rows))
    return {name: read.table}, source, replace(statement, source_query=read.text, aliases=aliases)


def _allows(merge: DrawnMerge, target: Target, source: Source) -> bool:
    """Return whether a query can stand for the source: it can list every column, and the target has no CHAR (R-822)."""
    names = [column.name.lower() for column in source.schema.columns]
    return (
        merge.statement.source_query is None
        and not merge.statement.self_merge
        and bool(merge.schemas.keys)
        and bool(names)
        and len(source.rows) <= _MOST_ROWS
        and len(set(names)) == len(names)
        and all(column.type != t.VOID for column in source.schema.columns)
        and all(column.limit is None or not column.limit.padded for column in target.schema.columns)
        and {name for name, _ in merge.schemas.keys} <= set(target.schema.names)
        and {name for _, name in merge.schemas.keys} <= set(source.schema.names)
    )


def _fresh(seen: _Seen, *wanted: str) -> tuple[str, ...]:
    """Give names that no column of either table has."""
    taken = {name.lower() for name in (*(c.name for c in seen.columns), *seen.target.schema.names)}
    found = []
    for name in wanted:
        free = name
        while free in taken:
            free += "_"
        found.append(free)
    return tuple(found)


def _few(draw: DrawFn, rows: Sequence[Row]) -> list[int]:
    """Draw numbers of a few rows."""
    most = min(draw(_FEW), len(rows))
    return [draw(st.integers(0, len(rows) - 1)) for _ in range(most)]


def _qualified(draw: DrawFn, seen: _Seen) -> _Form:
    """Keep the newest rows by QUALIFY."""
    return _deduplicated(draw, seen, qualify=True)


def _deduplicated(draw: DrawFn, seen: _Seen, *, qualify: bool = False) -> _Form:
    """Keep the newest row of each key, or of each number of a column: ``ROW_NUMBER() OVER (...) = 1``."""
    part, moment, number = _fresh(seen, "part", "seq", "rn")
    keys = seen.unique_keys if chance(draw, 70) else ()
    if qualify and "user" in map(str.lower, keys):
        keys = ()  # there, a stranger's case may call the function of that name
    rows: list[Row] = [(*row, place, 1) for place, row in enumerate(seen.rows)]
    for place in _few(draw, seen.rows):
        older = list(draw(st.sampled_from(seen.rows)))
        for name in keys:
            older[seen.place(name)] = seen.rows[place][seen.place(name)]
        rows.append((*older, place, -len(rows)))
    by = ", ".join(map(quote, keys or (part,)))
    descending = chance(draw, 75)
    if not descending:
        rows = [(*row[:-1], -row[-1]) for row in rows]
    function = "RANK" if chance(draw, 20) else "ROW_NUMBER"
    over = f"{function}() OVER (PARTITION BY {by} ORDER BY {moment}{' DESC' if descending else ''})"
    if qualify:
        return _Form(f"SELECT {seen.listed} FROM source QUALIFY {over} = 1", (part, moment), tuple(rows))
    inner = f"SELECT *, {over} AS {number} FROM source"
    star = chance(draw, 25)
    listed = f"* EXCEPT ({part}, {moment}, {number})" if star else seen.listed
    return _Form(f"SELECT {listed} FROM ({inner}) WHERE {number} = 1", (part, moment), tuple(rows))


def _shifted(draw: DrawFn, seen: _Seen) -> _Form:
    """Take a column from the row before or behind: ``LAG`` and ``LEAD``."""
    part, moment = _fresh(seen, "part", "seq")
    place = draw(st.integers(0, len(seen.columns) - 1))
    name = quote(seen.columns[place].name)
    behind = draw(st.booleans())
    stored: list[Row] = [(*row, 1, number) for number, row in enumerate(seen.rows, start=1)]
    # one more row at the end that gives a value and is left out itself
    end = [(*row, 0, 0 if not behind else len(stored) + 1) for row in seen.rows[:1]]
    ordered = [*stored, *end] if behind else [*end, *stored]
    cells = [row[place] for row in seen.rows]
    moved = [*cells[:1], *cells] if behind else [*cells, *cells[:1]]
    rows = tuple(
        (*row[:place], value, *row[place + 1 :]) for row, value in zip(ordered, moved[: len(ordered)], strict=True)
    )
    function = "LEAD" if behind else "LAG"
    value = f"{function}({name}) OVER (ORDER BY {moment}) AS {name}"
    listed = ", ".join(value if number == place else quote(column.name) for number, column in enumerate(seen.columns))
    text = f"SELECT {seen.listed} FROM (SELECT {listed}, {part} FROM source) WHERE {part} = 1"
    return _Form(text, (part, moment), rows)


def _summed(draw: DrawFn, seen: _Seen) -> _Form | None:
    """Compute a column as a running total: ``SUM(...) OVER (ORDER BY ...)``."""
    places = _summable(seen)
    if not places:
        return None
    (moment,) = _fresh(seen, "seq")
    place = draw(st.sampled_from(places))
    column = seen.columns[place]
    cells = [0, *(row[place] for row in seen.rows)]
    rows = tuple(
        (*row[:place], row[place] - before, *row[place + 1 :], number)
        for number, (row, before) in enumerate(zip(seen.rows, cells, strict=False))
    )
    total = f"SUM({quote(column.name)}) OVER (ORDER BY {moment})"
    value = f"CAST({total} AS {column.type.ddl()}) AS {quote(column.name)}"
    listed = ", ".join(value if number == place else quote(c.name) for number, c in enumerate(seen.columns))
    return _Form(f"SELECT {listed} FROM source", (moment,), rows)


def _summable(seen: _Seen) -> list[int]:
    """Number the columns of integers that add up without NULL and without overflow."""
    return [
        place
        for place, column in enumerate(seen.columns)
        if column.type in _INTEGERS and all(row[place] is not None and abs(row[place]) < _SMALL for row in seen.rows)
    ]


def _grouped(draw: DrawFn, seen: _Seen) -> _Form | None:
    """Bring rows together: ``GROUP BY ... HAVING ...`` with MAX, MIN and SUM, and ANY_VALUE of equal values."""
    part, moment = _fresh(seen, "part", "seq")
    keys = seen.unique_keys if chance(draw, 60) else ()
    summable = _summable(seen)
    copied = _few(draw, seen.rows)
    stored: list[list[Value]] = [[*row, place, 1] for place, row in enumerate(seen.rows)]
    copies = [[*seen.rows[place], place, 2] for place in copied]
    values = []
    for place, column in enumerate(seen.columns):
        name = quote(column.name)
        if column.name in keys:
            values.append(name)
            continue
        if place in summable and chance(draw, 40):
            for copy in copies:
                copy[place] = 0
            values.append(f"CAST(SUM({name}) AS {column.type.ddl()}) AS {name}")
            continue
        ordered = column.type in _ORDERED or isinstance(column.type, t.DecimalType)
        if not ordered and not seen.asks:
            return None
        function = draw(st.sampled_from(("MAX", "MIN"))) if ordered else "ANY_VALUE"
        if place in summable and ordered:
            for copy in copies:
                copy[place] += -1 if function == "MAX" else 1
        values.append(f"{function}({name}) AS {name}")
    rows = [*stored, *copies]
    having = draw(st.sampled_from(("COUNT(*) >= 1", f"MAX({moment}) > 0", f"COUNT({moment}) < 9")))
    if not keys and having.startswith("MAX"):
        rows += [[*seen.rows[place], -1 - place, 0] for place in _few(draw, seen.rows)]
    by = ", ".join(map(quote, keys or (part,)))
    text = f"SELECT {', '.join(values)} FROM source GROUP BY {by} HAVING {having}"
    return _Form(text, (part, moment), tuple(map(tuple, rows)))


def _joined(draw: DrawFn, seen: _Seen) -> _Form:
    """Fill columns from another row of the same table: a LEFT JOIN with COALESCE, or a JOIN."""
    part, base = _fresh(seen, "part", "base")
    left = chance(draw, 70)
    filled = [place for place in range(len(seen.columns)) if chance(draw, 40)]
    rows: list[Row] = []
    for number, row in enumerate(seen.rows, start=1):
        cells = tuple(
            None if place in filled and (not left or chance(draw, 60)) else cell for place, cell in enumerate(row)
        )
        # a row without NULLs of ours needs no partner of a LEFT JOIN
        alone = left and cells == row and draw(st.booleans())
        rows.append((*cells, number, -number))
        if not alone:
            rows.append((*row, -number, None))
    values = []
    for place, column in enumerate(seen.columns):
        name = quote(column.name)
        if place not in filled:
            values.append(f"a.{name}")
        elif left:
            values.append(f"COALESCE(a.{name}, b.{name}) AS {name}")
        else:
            values.append(f"b.{name} AS {name}")
    join = (
        draw(st.sampled_from(("LEFT JOIN", "LEFT OUTER JOIN")))
        if left
        else draw(st.sampled_from(("JOIN", "INNER JOIN")))
    )
    text = f"SELECT {', '.join(values)} FROM source a {join} source AS b ON b.{part} = a.{base} WHERE a.{part} > 0"
    return _Form(text, (part, base), tuple(rows))


def _halved(draw: DrawFn, seen: _Seen) -> _Form | None:
    """Rows of which the target has the key, and rows of which it has not: semi and anti joins, EXISTS."""
    if (on := _on_target(seen, "x", "y")) is None:
        return None
    select = f"SELECT {seen.list_of('x.')} FROM source x"
    halves = {
        "join": (f"{select} LEFT SEMI JOIN target y ON {on}", f"{select} LEFT ANTI JOIN target y ON {on}"),
        "exists": tuple(f"{select} WHERE {word}EXISTS (SELECT 1 FROM target y WHERE {on})" for word in ("", "NOT ")),
        "inner": (f"{select} JOIN target y ON {on}", f"{select} LEFT ANTI JOIN target AS y ON {on}"),
    }
    if not _finds_one(seen):
        del halves["inner"]
    if not seen.asks:
        del halves["exists"]
    return _Form(" UNION ALL ".join(halves[draw(st.sampled_from(sorted(halves)))]), (), seen.rows)


def _not_in_target(draw: DrawFn, seen: _Seen) -> _Form | None:
    """Leave out rows of which the target has the key, unless they have a mark: an anti join, NOT EXISTS."""
    if (on := _on_target(seen, "x", "y")) is None:
        return None
    (part,) = _fresh(seen, "part")
    found = [_partners(seen, row) for row in seen.rows]
    rows: list[Row] = [(*row, 1) for row in seen.rows]
    rows += [(*seen.rows[place], 0) for place in _few(draw, seen.rows) if found[place]]
    marked = "" if not any(found) and chance(draw, 80) else f" AND x.{part} = 0"
    select = f"SELECT {seen.list_of('x.')} FROM source x"
    joined = f"{select} LEFT ANTI JOIN target y ON {on}{marked}"
    subquery = f"{select} WHERE NOT EXISTS (SELECT 1 FROM target y WHERE {on}{marked})"
    return _Form(subquery if draw(st.booleans()) and seen.asks else joined, (part,), tuple(rows))


def _filled_from_target(draw: DrawFn, seen: _Seen) -> _Form | None:
    """Keep the target's value where the source has NULL: ``COALESCE(x.v, y.v)`` over a LEFT JOIN."""
    on = _on_target(seen, "x", "y")
    if on is None or not _finds_one(seen):
        return None
    names = {name.lower(): place for place, name in enumerate(seen.target.schema.names)}
    keys = {name for name, _ in seen.keys}
    found = [_partners(seen, row) for row in seen.rows]
    rows = [list(row) for row in seen.rows]
    values = []
    for place, column in enumerate(seen.columns):
        name, other = quote(column.name), names.get(column.name.lower())
        plain = f"x.{name}"
        if other is None or column.name in keys or seen.target.schema.columns[other].type != column.type:
            values.append(plain)
            continue
        if column.type not in _ORDERED or seen.target.schema.columns[other].limit is not None:
            values.append(plain)
            continue
        given = [partners[0][other] if partners else None for partners in found]
        if any(row[place] is None and value is not None for row, value in zip(seen.rows, given, strict=True)):
            values.append(plain)
            continue
        for row, value in zip(rows, given, strict=True):
            if row[place] == value and draw(st.booleans()):
                row[place] = None
        values.append(f"COALESCE(x.{name}, y.{quote(seen.target.schema.names[other])}) AS {name}")
    text = f"SELECT {', '.join(values)} FROM source x LEFT JOIN target y ON {on}"
    return _Form(text, (), tuple(map(tuple, rows)))


def _on_target(seen: _Seen, one: str, other: str) -> str | None:
    """Write what compares the keys of source and target; None if their types make it more than that."""
    pairs = [(seen.columns[seen.place(mine)], _of_target(seen, theirs)) for mine, theirs in seen.keys]
    if any(mine.type != theirs.type or mine.type not in _KEY_TYPES or theirs.limit for mine, theirs in pairs):
        return None
    return " AND ".join(f"{one}.{quote(mine.name)} = {other}.{quote(theirs.name)}" for mine, theirs in pairs)


def _of_target(seen: _Seen, name: str) -> Field:
    return seen.target.schema.columns[seen.target.schema.names.index(name)]


def _partners(seen: _Seen, row: Row) -> list[Row]:
    """Find the rows of the target with the keys of a row."""
    pairs = [(seen.place(mine), seen.target.schema.names.index(theirs)) for mine, theirs in seen.keys]
    return [
        found
        for found in physical_rows(seen.target)
        if all(row[mine] is not None and row[mine] == found[theirs] for mine, theirs in pairs)
    ]


def _finds_one(seen: _Seen) -> bool:
    """Return whether no row has two partners in the target."""
    return all(len(_partners(seen, row)) <= 1 for row in seen.rows)


def _looked_up(draw: DrawFn, seen: _Seen) -> _Form:
    """Keep rows by a query over the same table: IN, NOT IN, EXISTS and NOT EXISTS."""
    part, base = _fresh(seen, "part", "base")
    wanted = draw(st.booleans())
    left_out: list[Row] = [seen.rows[place] for place in _few(draw, seen.rows)]
    kept = [(*row, number, number if wanted else None) for number, row in enumerate(seen.rows, start=1)]
    others = [(*row, -number, None if wanted else -number) for number, row in enumerate(left_out, start=1)]
    word = "" if wanted else "NOT "
    if draw(st.booleans()):
        test = f"{part} {word}IN (SELECT {base} FROM source WHERE {base} IS NOT NULL)"
        text = f"SELECT {seen.listed} FROM source WHERE {test}"
    else:
        test = f"{word}EXISTS (SELECT 1 FROM source y WHERE y.{base} = x.{part})"
        text = f"SELECT {seen.list_of('x.')} FROM source x WHERE {test}"
    return _Form(text, (part, base), (*kept, *others))


def _exploded(draw: DrawFn, seen: _Seen) -> _Form:
    """Make rows of arrays: equal rows that follow each other from one, or rows from arrays with a fitting element."""
    (many,) = _fresh(seen, "many")
    view = draw(st.sampled_from(("LATERAL VIEW", "LATERAL VIEW OUTER")))
    if draw(st.booleans()):
        rows: list[Row] = [(*row, 1 + number % 2) for number, row in enumerate(seen.rows)]
        rows += [(*seen.rows[place], 3) for place in _few(draw, seen.rows)]
        text = f"SELECT {seen.listed} FROM source {view} explode(array(1, 2)) e AS n1 WHERE n1 = {many}"
        return _Form(text, (many,), tuple(rows))
    stored: list[list[Value]] = []
    for row in seen.rows:
        if stored and repr(tuple(stored[-1][:-1])) == repr(row):
            stored[-1][-1] += 1
        else:
            stored.append([*row, 1])
    text = f"SELECT {seen.listed} FROM source {view} explode(sequence(1, {many})) e AS n1"
    return _Form(text, (many,), tuple(map(tuple, stored)))


def _limited(draw: DrawFn, seen: _Seen) -> _Form:
    """Take the first rows of an order without ties: ``ORDER BY ... LIMIT``."""
    (moment,) = _fresh(seen, "seq")
    descending = draw(st.booleans())
    rows: list[Row] = [(*row, number) for number, row in enumerate(seen.rows)]
    rows += [(*seen.rows[place], len(seen.rows) + number) for number, place in enumerate(_few(draw, seen.rows))]
    if descending:
        rows = [(*row[:-1], -row[-1]) for row in rows]
    order = f"{moment}{' DESC' if descending else ''}"
    return _Form(f"SELECT {seen.listed} FROM source ORDER BY {order} LIMIT {len(seen.rows)}", (moment,), tuple(rows))


def _named(draw: DrawFn, seen: _Seen, text: str) -> str:
    """Put a query under a name, ``WITH q AS (...)``, or behind the word FROM that begins another."""
    form = draw(st.sampled_from(("with", "with two", "from")))
    if form == "with":
        return f"WITH q AS ({text}) SELECT {'*' if draw(st.booleans()) else seen.listed} FROM q"
    if form == "with two":
        return f"WITH q AS ({text}), r AS (SELECT * FROM q) SELECT {seen.list_of('r.')} FROM r"
    return f"FROM ({text}) AS q SELECT {seen.list_of('q.')}"


def _filled_from_table(draw: DrawFn, seen: _Seen, name: str) -> _WithTable:
    """Take some columns from the other table: JOIN and LEFT JOIN by a number."""
    ref, key = _fresh(seen, "ref", "k")
    moved = [place for place in range(len(seen.columns)) if chance(draw, 40)]
    stored: list[Row] = []
    table: list[Row] = []
    for number, row in enumerate(seen.rows, start=1):
        other = draw(st.sampled_from((None, row)))
        cells = [None if place in moved and other is None else cell for place, cell in enumerate(row)]
        stored.append((*cells, number))
        table.append((number, *(row[place] for place in moved)))
    left = draw(st.booleans())
    if not left:  # rows without a partner are left out
        stored += [(*seen.rows[place], -1 - place) for place in _few(draw, seen.rows)]
    table += [(1000 + place, *(seen.rows[place][each] for each in moved)) for place in _few(draw, seen.rows)]
    values = [f"{'y' if place in moved else 'x'}.{quote(column.name)}" for place, column in enumerate(seen.columns)]
    text = f"SELECT {', '.join(values)} FROM source x {'LEFT ' if left else ''}JOIN {name} y ON y.{key} = x.{ref}"
    schema = Schema((Field(key, t.INT), *(seen.columns[place] for place in moved)))
    return _WithTable(text, (ref,), tuple(stored), Source(schema=schema, rows=tuple(table)))


def _looked_up_in_table(draw: DrawFn, seen: _Seen, name: str) -> _WithTable:
    """Keep rows by the other table: IN, NOT IN, EXISTS, NOT EXISTS, a semi join and an anti join."""
    ref, key = _fresh(seen, "ref", "k")
    wanted = draw(st.booleans())
    kept: list[Row] = [(*row, number) for number, row in enumerate(seen.rows, start=1)]
    others: list[Row] = [(*seen.rows[place], -1 - place) for place in _few(draw, seen.rows)]
    numbers = [row[-1] for row in (kept if wanted else others)]
    rows = tuple((number,) for number in [*numbers, *numbers[:1], *([1000] if draw(st.booleans()) else [])])
    word = "" if wanted else "NOT "
    listed = seen.list_of("x.")
    text = draw(
        st.sampled_from(
            (
                f"SELECT {listed} FROM source x WHERE x.{ref} {word}IN (SELECT {key} FROM {name})",
                f"SELECT {listed} FROM source x WHERE {word}EXISTS (SELECT 1 FROM {name} y WHERE y.{key} = x.{ref})",
                f"SELECT {listed} FROM source x LEFT {'SEMI' if wanted else 'ANTI'} JOIN {name} y ON y.{key} = x.{ref}",
            )
        )
    )
    return _WithTable(text, (ref,), (*kept, *others), Source(schema=Schema((Field(key, t.INT),)), rows=rows))


def _brought_together(draw: DrawFn, seen: _Seen, name: str) -> _WithTable:
    """Read some rows from the other table: UNION ALL."""
    here = [draw(st.booleans()) for _ in seen.rows]
    own = tuple(row for row, is_here in zip(seen.rows, here, strict=True) if is_here)
    theirs = tuple(row for row, is_here in zip(seen.rows, here, strict=True) if not is_here)
    text = f"SELECT {seen.listed} FROM source UNION ALL SELECT {seen.listed} FROM {name}"
    return _WithTable(text, (), own, Source(schema=Schema(seen.columns), rows=theirs))


_THIRD_FORMS: tuple[Callable[[DrawFn, _Seen, str], _WithTable] | None, ...] = (
    *(None, _filled_from_table, _looked_up_in_table, _brought_together),
)
_FORMS: dict[Feature, tuple[Callable[[DrawFn, _Seen], _Form | None], ...]] = {
    Feature.SOURCE_WINDOWS: (_deduplicated, _shifted),
    Feature.SOURCE_GROUPS: (_grouped,),
    Feature.SOURCE_JOINS: (_joined,),
    Feature.SOURCE_READS_TARGET: (_not_in_target, _halved, _filled_from_target),
    Feature.SOURCE_QUALIFY: (_qualified,),
    Feature.SOURCE_TOTALS: (_summed,),
    Feature.SOURCE_SUBQUERIES: (_looked_up,),
    Feature.SOURCE_EXPLODES: (_exploded,),
    Feature.SOURCE_LIMIT: (_limited,),
}
