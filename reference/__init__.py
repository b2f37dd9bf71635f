"""What a merge means: the case, the outcome, and the DuckDB evaluation of a case."""

from mergecheck.reference.merge_reference import evaluate

__all__ = ["evaluate"]
