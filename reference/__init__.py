"""What a merge means: the case, the outcome, and the DuckDB evaluation of a case."""

from mergecheck.reference.merge_reference import MergeReference, evaluate

__all__ = ["MergeReference", "evaluate"]
