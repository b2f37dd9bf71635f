"""The pages of the rules: text, minimal case and random cases, as Markdown for the terminal and for the site."""
