"""Why a case has its result, row by row, and which explanations an engine's other result has."""
