"""Regular expressions that Java and DuckDB (RE2) read alike: plain characters, classes, groups, counts, anchors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.reference.expressions.literals import plain_text

if TYPE_CHECKING:
    from sqlglot import exp

_PIECE = re.compile(
    r"""
      (?P<open>\((?:\?:)?) | (?P<close>\)) | (?P<bar>\|) | (?P<anchor>[\^$])
    | (?P<class>\[\^?(?:\\[dwsDWS\]\[\\^.\-+*?(){}|/$]|[A-Za-z0-9](?:-[A-Za-z0-9])?|[ !"#%',/:;<=>@_`~.+*?(){}|$])+\])
    | (?P<escape>\\[dwsDWS]) | (?P<quoted>\\[.\\+*?()\[\]{}|^$/\-]) | (?P<dot>\.)
    | (?P<plain>[^\\.+*?()\[\]{}|^$\x00-\x1f\x7f])
    """,
    re.VERBOSE,
)
_COUNT = re.compile(r"(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})\??")
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern that both read alike.

    Attributes:
        text: as it is written.
        num_groups: its capturing groups.
        odd: DuckDB's pattern of the characters that they treat differently; values with any of these are unsupported.
    """

    text: str
    num_groups: int
    odd: str

    @property
    def may_be_empty(self) -> bool:
        """Whether it matches an empty text somewhere."""
        return re.search(self.text, "") is not None


def pattern_of(node: exp.Expr) -> Pattern:
    """Read a pattern; only forms that mean one thing are taken.

    Raises:
        UnsupportedByReferenceError: for an operand that is no literal, and for other forms.
    """
    text = plain_text(node)
    if not text:
        raise UnsupportedByReferenceError("a regular expression that is no literal")
    at, is_open, groups, kinds = 0, 0, 0, set[str]()
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None or piece.lastgroup is None:
            raise UnsupportedByReferenceError("a regular expression of this kind")
        kind, at = piece.lastgroup, piece.end()
        kinds.add(kind)
        is_open += {"open": 1, "close": -1}.get(kind, 0)
        groups += piece[0] == "("
        if "\\s" in piece[0].lower():
            kinds.add("space")
        count = _COUNT.match(text, at)
        if count is not None and (kind in ("open", "bar", "anchor") or (kind == "close" and groups)):
            # the capture of a group that is read several times differs
            raise UnsupportedByReferenceError("a regular expression of this kind")
        at = at if count is None else count.end()
        if is_open < 0:
            break
    try:
        re.compile(text)
    except re.error:
        is_open = 1
    if is_open or re.search(r"\(\)|\(\||\|\||\|\)|^\||\|$", text):
        raise UnsupportedByReferenceError("a regular expression of this kind")
    odd = (_LINE_ENDS if kinds & {"dot", "anchor"} else "") + (r"\v" if "space" in kinds else "")
    return Pattern(text=text, num_groups=groups, odd=f"[{odd}]" if odd else "")


def plain_delimiter(node: exp.Expr) -> str:
    """Read a pattern that is a plain text, as most patterns of ``split`` are.

    Raises:
        UnsupportedByReferenceError: for any other pattern.
    """
    text = plain_text(node) or ""
    pieces = list(_PIECE.finditer(text))
    if not text or "".join(piece[0] for piece in pieces) != text:
        raise UnsupportedByReferenceError("split by a regular expression")
    found = []
    for piece in pieces:
        single = re.fullmatch(r"\[(\\?)([^\^\\a-zA-Z0-9])\]", piece[0])
        if piece.lastgroup == "plain":
            found.append(piece[0])
        elif piece.lastgroup == "quoted":
            found.append(piece[0][1:])
        elif single is not None:
            found.append(single[2])
        else:
            raise UnsupportedByReferenceError("split by a regular expression")
    return "".join(found)
