"""The shape of the house: no import circles."""

from __future__ import annotations

import grimp
import pytest


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    """All imports of the package, those for type checkers included."""
    return grimp.build_graph("mergecheck", exclude_type_checking_imports=False, cache_dir=None)


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of nodes that reach each other (by removing nodes that lead nowhere or are led to by none)."""
    left = {node: set(targets) for node, targets in graph.items()}
    while True:
        sources = set().union(*left.values()) if left else set()
        kept = {node for node in left if node in sources and left[node] & left.keys()}
        if kept == left.keys():
            return [kept] if kept else []
        left = {node: left[node] & kept for node in kept}


def test_no_module_imports_itself_by_way_of_others(imports: grimp.ImportGraph) -> None:
    graph = {module: imports.find_modules_directly_imported_by(module) for module in imports.modules}
    assert circles(graph) == []


def test_no_room_imports_itself_by_way_of_others(imports: grimp.ImportGraph) -> None:
    """The sub-packages and modules of one package form no circle, on any level of the tree."""
    by_package: dict[str, dict[str, set[str]]] = {}
    for importer in imports.modules:
        for imported in imports.find_modules_directly_imported_by(importer):
            left, right = importer.split("."), imported.split(".")
            same = next(
                (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
            )
            if same < min(len(left), len(right)):
                graph = by_package.setdefault(".".join(left[:same]), {})
                graph.setdefault(left[same], set()).add(right[same])
                graph.setdefault(right[same], set())
    assert {package: found for package, graph in by_package.items() if (found := circles(graph))} == {}


def test_the_check_sees_a_circle() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == [{"b", "c"}]
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
