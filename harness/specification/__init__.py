"""The specification of MERGE: every rule with its text, a minimal case and the random cases that reach it, as data.

``text/`` has one Markdown file per part, ``cases/`` one minimal case per rule that a case can reach. ``reach.json`` and
``tests.json`` are written by ``make specification``.
"""
