"""Try on Delta Lake the rules that no case can express, and print the result rule by rule.

Run it with

    python -m tools.benchmarks.rules_on_delta
    python -m tools.benchmarks.rules_on_delta --rule R-450 --rule R-715

A rule that Delta Lake does not follow is marked, with its behaviour instead; then the exit code is 1.
"""
