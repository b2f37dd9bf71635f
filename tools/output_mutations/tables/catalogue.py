"""All changes of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.output_mutations.tables.commits import commit_mutants, legal_commit_mutants
from tools.output_mutations.tables.data_files import (
    data_file_mutants,
    folder_mutants,
    legal_data_file_mutants,
    legal_folder_mutants,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.output_mutations.tables.written import Mutant, WrittenTable


def mutants_of(table: WrittenTable) -> Iterator[Mutant]:
    """Yield the changes that must be reported, and those that must not."""
    for makers in (
        (commit_mutants, data_file_mutants, folder_mutants),
        (legal_commit_mutants, legal_data_file_mutants, legal_folder_mutants),
    ):
        for make in makers:
            yield from make(table)
