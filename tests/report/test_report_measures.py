"""The page that defines our numbers names every column and reading we print."""

import re
from pathlib import Path

import pytest
from judge_notation import judged, output, quantiles, ran
from report_notation import run_document

from opsdebug_ci.report.compare import HEADER as COMPARE_HEADER
from opsdebug_ci.report.readings import output_lines
from opsdebug_ci.report.text import HEADER

PAGE = (Path(__file__).parents[2] / "docs" / "measures.md").read_text()


def reading_names():
    full = output(
        rejected=1,
        classes="nan->normal:1",
        ulp=quantiles("0 0 0 0"),
        significant_digits=7.0,
        misrounding_rate=0.0,
        bad="2 for 1 allowed 0.1",
    )
    document = run_document([judged(ran(full))])
    return [re.split(r"  +", line.strip())[0] for line in output_lines(document.observations[0].outputs[0])[1:]]


def test_every_reading_is_printed_for_a_full_output():
    assert reading_names() == [
        "zone",
        "wrong class",
        "worst",
        "cosine",
        "max abs error",
        "rel error",
        "ULP",
        "significant digits",
        "misrounding rate",
        "bound",
    ]


@pytest.mark.parametrize("name", [*HEADER[1:], *reading_names(), *COMPARE_HEADER[4:-1]])
def test_number_is_defined(name):
    assert re.search(rf"(?i)(^\| |^## |, ){name}", PAGE, flags=re.MULTILINE)
