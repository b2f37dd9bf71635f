"""The pages of the rules: text, minimal case, tests and random cases, as Markdown in docs/ and in the terminal."""
