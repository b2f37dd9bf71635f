"""The documentation as a site: what MkDocs needs besides mkdocs.yml and docs/."""
