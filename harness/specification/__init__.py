"""The specification of MERGE: every rule with its text, a minimal case and the random cases that reach it, as data.

``text/`` has one Markdown file per part, ``cases/`` one minimal case per rule that a case can reach, ``reach.json`` the
number of random cases that reach each rule. ``python -m tools.rule_cases`` draws the last two anew, ``make docs`` makes
a page of each rule.
"""
