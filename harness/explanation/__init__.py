"""Why a case comes to its result, row by row, and what an engine's other result implies."""
