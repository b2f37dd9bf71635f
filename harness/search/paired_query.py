"""A source query whose rows carry the number of their pair, so that it gives each pair the rows that it would alone.

Only what keeps the pairs apart is written into the text: the number in the lists of SELECT, in the conditions of joins,
in GROUP BY and in PARTITION BY. A query that mixes rows in another way, such as LIMIT or a subquery in a condition, is
left alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.grammar import Tree
from mergecheck.reference.syntax.merge_text import read_piece

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PAIR = "mergecheck_pair"
_ONE_SIDE = frozenset({"LEFT", "SEMI", "ANTI"})
_OUTER_ON_THE_RIGHT = frozenset({"RIGHT", "FULL"})


class _CannotPairError(Exception):
    """The query has a part of which the pairs cannot be kept apart."""


class _Rows(Enum):
    """The rows of a query or table."""

    COMMON = "common"
    """the same for every pair, without a number"""
    PAIRED = "paired"
    """each with the number of its pair, in the last column"""
    INSIDE = "paired inside"
    """the same, in another column"""


@dataclass(frozen=True, slots=True)
class _Relation:
    """A relation in FROM; ``name`` qualifies its columns, empty if nothing does."""

    name: str
    rows: _Rows

    @property
    def number(self) -> str:
        return f"{self.name}.{PAIR}" if self.name else PAIR


def paired_query(query: str, tables: frozenset[str]) -> str | None:
    """Write the number of the pair into a query.

    Args:
        query: the source query, without its brackets.
        tables: the tables that have the column, in lower case.

    Returns:
        None if the query reads none of these tables, or if the pairs cannot be kept apart.
    """
    try:
        tree = read_piece(query, "query").tree
        writer = _Writer(query)
        rows = writer.query(tree, dict.fromkeys(tables, _Rows.PAIRED))
    except (_CannotPairError, RejectedError, UnsupportedByReferenceError):
        return None
    return None if rows is _Rows.COMMON else writer.written()


@dataclass(slots=True)
class _Writer:
    """The text, and what has to be written into it at which offsets."""

    sql: str
    inserts: list[tuple[int, str]] = field(default_factory=list)

    def written(self) -> str:
        sql = self.sql
        for offset, text in sorted(self.inserts, key=lambda insert: insert[0], reverse=True):
            sql = sql[:offset] + text + sql[offset:]
        return sql

    def query(self, tree: Tree, tables: Mapping[str, _Rows]) -> _Rows:
        known = dict(tables)
        for cte in (one for ctes in tree.trees("ctes") for one in ctes.trees("cte")):
            rows = self.query(cte.trees("query")[0], known)
            _require(rows is _Rows.COMMON or not cte.trees("names"))
            known[self._name(cte.trees("name")[0])] = rows
        rows = self._operands(tree.trees("query_term")[0], known)
        pipes = tree.trees("pipe")
        _require(not any(self._reads_pairs(pipe, known) for pipe in pipes))
        if rows is not _Rows.COMMON:
            _require(not pipes)
            for organization in tree.trees("organization"):
                _require(_is_plain(organization))
        return rows

    def _operands(self, tree: Tree, tables: Mapping[str, _Rows]) -> _Rows:
        """Rows of a UNION, INTERSECT or EXCEPT: whole rows are compared and listed, so the number must be in all."""
        found = [
            self._operands(part, tables) if part.rule == "intersection" else self._primary(part, tables)
            for part in tree.trees("intersection", "query_primary")
        ]
        if len(found) > 1:
            _require(set(found) in ({_Rows.PAIRED}, {_Rows.COMMON}))
        return found[0]

    def _primary(self, tree: Tree, tables: Mapping[str, _Rows]) -> _Rows:
        (part,) = (part for part in tree.parts if isinstance(part, Tree))
        if part.rule == "query":
            return self.query(part, tables)
        if part.rule == "table_query":
            return self._table(part.trees("reference")[0], tables)
        if part.rule == "values":
            return _Rows.COMMON
        return self._select(part, tables)

    def _select(self, tree: Tree, tables: Mapping[str, _Rows]) -> _Rows:
        relations = self._relations(tree, tables)
        paired = [relation for relation in relations if relation.rows is not _Rows.COMMON]
        self._refuse_subqueries(tree, tables)
        if not paired:
            return _Rows.COMMON
        _require(sum(not isinstance(part, Tree) and part.key == "SELECT" for part in tree.parts) == 1)
        _require(not tree.trees("windows") and all(map(_is_plain, tree.trees("organization"))))
        number = paired[0].number
        for window in _within(tree, "window"):
            _require(window.has("("))
            parts = window.trees("partitioned")
            if parts:
                self.inserts.append((parts[0].end, f", {number}"))
            else:
                self.inserts.append((window.start + 1, f"PARTITION BY {number} "))
        for grouping in tree.trees("grouping"):
            keys = [key for group in grouping.trees("group") for key in group.trees("expression")]
            keys += grouping.trees("expression")
            plain = all(group.trees("expression") for group in grouping.trees("group"))
            _require(plain and not grouping.has("WITH") and not grouping.has("GROUPING"))
            _require(bool(keys) and all(self._text(key).upper() != "ALL" for key in keys))
            self.inserts.append((grouping.end, f", {number}"))
        return self._listed(tree, relations, number)

    def _listed(self, tree: Tree, relations: list[_Relation], number: str) -> _Rows:
        """Add the number to the list of SELECT unless a star has it."""
        listed = tree.trees("named")
        held = 0
        for star in filter(None, map(_star_of, listed)):
            (*names,) = star.trees("multipart")
            name = self._name(names[0]) if names else None
            held += sum(
                relation.rows is not _Rows.COMMON and (name is None or relation.name.strip("`").lower() == name)
                for relation in relations
            )
        _require(held <= 1)
        if held:
            is_last = len(listed) == len(relations) == 1 and relations[0].rows is _Rows.PAIRED
            return _Rows.PAIRED if is_last else _Rows.INSIDE
        self.inserts.append((listed[-1].end, f", {number}"))
        return _Rows.PAIRED

    def _relations(self, tree: Tree, tables: Mapping[str, _Rows]) -> list[_Relation]:
        """List the relations whose columns SELECT sees, and join those that have numbers by them."""
        froms = tree.trees("from")
        if not froms:
            return []
        (from_,) = froms
        first, *others = from_.trees("relation")
        found = [self._relation(first.trees("relation_primary")[0], tables)]
        has_numbers = found[0].rows is not _Rows.COMMON
        for join in first.trees("join"):
            has_numbers |= self._join(join, found, tables)
        for other in others:
            _require(not has_numbers and not self._reads_pairs(other, tables))
        if has_numbers:
            _require(not from_.trees("pivot", "unpivot") and not first.trees("pivot", "unpivot"))
            _require(not first.has("LATERAL"))
        return found

    def _join(self, join: Tree, found: list[_Relation], tables: Mapping[str, _Rows]) -> bool:
        """Return whether the joined rows have numbers."""
        right = self._relation(join.trees("relation_primary")[0], tables)
        left = next((relation for relation in found if relation.rows is not _Rows.COMMON), None)
        words = {token.key for kind in join.trees("join_type") for token in kind.tokens}
        has_right = right.rows is not _Rows.COMMON
        if left is not None or has_right:
            _require(not join.has("NATURAL") and not join.has("LATERAL"))
            _require(words.isdisjoint(_OUTER_ON_THE_RIGHT))
            on = [expression for each in join.trees("join_on") for expression in each.trees("expression")]
            _require(bool(on) or not join.trees("join_on"))
            if left is not None and has_right:
                _require(bool(on) and bool(left.name) and bool(right.name))
                self.inserts += [(on[0].start, "("), (on[0].end, f") AND {left.number} = {right.number}")]
            elif has_right:
                _require(words.isdisjoint(_ONE_SIDE))
        if words.isdisjoint({"SEMI", "ANTI"}):
            found.append(right)
        return left is not None or has_right

    def _relation(self, primary: Tree, tables: Mapping[str, _Rows]) -> _Relation:
        aliases = primary.trees("alias")
        references, queries = primary.trees("reference"), primary.trees("query")
        if references:
            rows, name = self._table(references[0], tables), self._text(references[0])
        elif queries:
            rows, name = self.query(queries[0], tables), ""
        else:
            _require(not self._reads_pairs(primary, tables))
            rows, name = _Rows.COMMON, ""
        if aliases:
            name = self._text(aliases[0].trees("strict_name")[0])
        if rows is not _Rows.COMMON:
            _require(not primary.trees("version", "options", "sample"))
            _require(not any(alias.trees("names") for alias in aliases))
        return _Relation(name, rows)

    def _table(self, reference: Tree, tables: Mapping[str, _Rows]) -> _Rows:
        return tables.get(self._name(reference), _Rows.COMMON)

    def _refuse_subqueries(self, select: Tree, tables: Mapping[str, _Rows]) -> None:
        """Refuse queries in expressions that read a paired table: they would read the rows of all pairs."""
        parts = [part for part in select.parts if isinstance(part, Tree) and part.rule != "from"]
        relations = [relation for from_ in select.trees("from") for relation in from_.trees("relation")]
        parts += [on for relation in relations for join in relation.trees("join") for on in join.trees("join_on")]
        _require(not any(self._reads_pairs(part, tables) for part in parts))

    def _reads_pairs(self, tree: Tree, tables: Mapping[str, _Rows]) -> bool:
        return any(part.rule == "reference" and self._table(part, tables) is not _Rows.COMMON for part in tree.walk())

    def _name(self, tree: Tree) -> str:
        return self._text(tree).strip("`").lower()

    def _text(self, tree: Tree) -> str:
        return self.sql[tree.start : tree.end]


def _require(condition: bool) -> None:  # noqa: FBT001 - it reads like an assertion
    if not condition:
        raise _CannotPairError


def _is_plain(organization: Tree) -> bool:
    """Return whether a query keeps all rows, and names no window."""
    return not any(organization.has(word) for word in ("LIMIT", "OFFSET")) and not organization.trees("windows")


def _star_of(named: Tree) -> Tree | None:
    """Return the star that an item of a SELECT list is; None if it is another expression."""
    tree = named
    while tree.rule != "star":
        if len(tree.parts) != 1 or not isinstance(tree.parts[0], Tree):
            return None
        tree = tree.parts[0]
    return tree


def _within(select: Tree, rule: str) -> Iterator[Tree]:
    """Yield the parts that a rule has read in a SELECT, without the queries in it."""
    waiting = [part for part in select.parts if isinstance(part, Tree)]
    while waiting:
        tree = waiting.pop()
        if tree.rule == rule:
            yield tree
        if tree.rule != "query":
            waiting += [part for part in tree.parts if isinstance(part, Tree)]
