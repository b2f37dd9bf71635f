"""Results as a JUnit file: a test case for every check of a finding, and for every saved case."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.report.ci.results import CheckedCase, Result

# what XML 1.0 cannot hold, not even as an entity
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(results: Sequence[Result]) -> str:
    """Return the file's text."""
    root = ET.Element("testsuites", name="mergecheck")
    for result in results:
        suite = ET.SubElement(root, "testsuite", name=_text(f"mergecheck {result.engine or result.name}".strip()))
        if result.is_random:
            _add_run(suite, result)
        for case in result.cases:
            _add_case(suite, case, result)
        tests = suite.findall("testcase")
        suite.set("tests", str(len(tests)))
        for kind, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            suite.set(attribute, str(sum(test.find(kind) is not None for test in tests)))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_run(suite: ET.Element, result: Result) -> None:
    test = ET.SubElement(suite, "testcase", classname="mergecheck.fuzz", name=f"random cases of seed {result.seed}")
    counted = ", ".join(f"{verdict} {number}" for verdict, number in result.counts.items() if number)
    if result.num_engine_errors:
        ET.SubElement(test, "error", message=_text(f"the engine failed: {counted}"))
    elif result.inconclusive:
        why = "; ".join(result.inconclusive)
        ET.SubElement(test, "failure", message=_text(f"inconclusive, {why}: {counted}"))
    ET.SubElement(test, "system-out").text = _text(counted)


def _add_case(suite: ET.Element, case: CheckedCase, result: Result) -> None:
    classname = _text(f"mergecheck.{result.engine or 'replay'}")
    for difference in case.differences if case.differs else ():
        test = ET.SubElement(suite, "testcase", classname=classname, name=_text(f"{case.id} {difference.check}"))
        failure = ET.SubElement(test, "failure", message=_text(f"{difference.check} {difference.kind}"))
        failure.text = _text("\n".join([*difference.lines, result.command_for(case)]).rstrip("\n"))
    if case.differs and case.differences:
        return
    test = ET.SubElement(suite, "testcase", classname=classname, name=_text(case.id))
    if case.verdict == "engine_error":
        ET.SubElement(test, "error", message=_text(case.reason))
    elif case.verdict == "now passing":
        ET.SubElement(test, "failure", message="now passing: take its entry out of the baseline")
    elif case.verdict in ("judged_in_part", "unsupported", "deviates", "not_checked", "expected", "quarantined"):
        ET.SubElement(test, "skipped", message=_text(case.reason or ", ".join([case.verdict, *case.deviations])))


def _text(text: str) -> str:
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
