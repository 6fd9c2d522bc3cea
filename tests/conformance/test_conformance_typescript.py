"""A run of the TypeScript client counts only when it came to its end."""

import pytest

from tests.conformance.typescript.runner import Check, read_checks, report

PASSED = '{"check": "tools/text", "ok": true, "told": ""}\n'
FAILED = '{"check": "tools/image", "ok": false, "told": "no image"}\n'


def test_each_line_is_a_check() -> None:
    assert read_checks(PASSED + FAILED + '{"checks": 2}\n') == [
        Check("tools/text", True, ""),
        Check("tools/image", False, "no image"),
    ]


@pytest.mark.parametrize("text", ["", PASSED, PASSED + '{"checks": 2}\n', '{"checks": 0}\n'])
def test_a_client_that_gave_up_is_no_success(text: str) -> None:
    with pytest.raises(ValueError, match="no end"):
        read_checks(text)


def test_the_report_counts_and_tells_what_failed() -> None:
    checks = [Check("tools/text", True, ""), Check("tools/image", False, "no image")]
    assert report("stdio", checks).splitlines() == [
        "typescript/stdio: 1 of 2 pass",
        "typescript/stdio/tools/image FAILS: no image",
    ]
