"""The JSON document: strict, valid against its committed schema, and read back equal."""

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from judge_notation import judged, output, raised, ran
from report_notation import demo, run_document

from opsdebug_ci.errors import UsageError
from opsdebug_ci.model import Stage
from opsdebug_ci.report import decode, encode, schema_text

COMMITTED = Path(__file__).parents[2] / "docs" / "schema" / "opsdebug.run.1.json"


def test_committed_schema_is_the_derived_one():
    assert COMMITTED.read_text() == schema_text()


def test_document_is_valid_and_its_schema_refuses_another():
    validator = jsonschema.Draft202012Validator(json.loads(COMMITTED.read_text()))
    validator.check_schema(validator.schema)
    fields = json.loads(encode(demo()))
    assert list(validator.iter_errors(fields)) == []
    fields["observations"][0]["verdict"] = "fine"
    assert [error.message for error in validator.iter_errors(fields)] != []


def test_read_back_equal():
    assert decode(encode(demo())) == demo()


def test_the_promised_keys():
    fields = json.loads(encode(demo()))
    assert (fields["schema"], fields["stage"]) == ("opsdebug.run/1", "smoke")
    assert {"run", "observations", "summary", "next", "unchanged"} <= set(fields)
    failed = fields["observations"][2]
    assert failed["case"]["operator"] == "softmax"
    assert failed["reference"] == {"used": "precise", "confidence": "high", "dissent": None}
    assert failed["accuracy"]["ulp"] == {"p50": 0.0, "p95": 1.0, "p99": 3.0, "max": 6.0}
    assert failed["accuracy"] == failed["outputs"][0]["accuracy"]
    assert failed["fingerprint"] == fields["summary"]["groups"][0]["fingerprint"]
    assert failed["findings"][0]["next"] == fields["next"][0]
    assert failed["timing"] == {"total_ns": 12_300_000, "function_ns": 1, "reference_ns": 2}


def test_worst_output_is_the_one_shown():
    document = run_document([judged(ran(output(), output("out1", rejected=3), output("out2", rejected=1)))])
    assert document.observations[0].accuracy.output == "out1"


def test_what_is_not_finite_is_null():
    infinite = judged(ran(output(max_abs_err=float("inf"), cosine=float("nan"))))
    text = encode(run_document([infinite])).decode()
    assert '"max_abs_err":null' in text and '"cosine":null' in text
    assert not re.search("NaN|Infinity", text)


def test_text_that_is_not_unicode_is_replaced():
    document = run_document([judged(raised(message="file \ud800"))])
    assert "file \ufffd" in json.loads(encode(document))["observations"][0]["findings"][0]["statement"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "truncated"),
        (b"[]", "Expected `object`"),
        (b"{}", "missing required field"),
        (encode(demo()).replace(b'"verdict":"pass"', b'"verdict":"fine"', 1), "Invalid enum value 'fine'"),
        (encode(replace(demo(), schema="opsdebug.run/2")), "wanted `opsdebug.run/1`"),
        (encode(demo()).replace(b'"count":2', b'"count":true', 1), "Expected `int`"),
        (b'{"x":' + b"[" * 100_000, "recursion"),
    ],
)
def test_another_document_is_refused(data, message):
    with pytest.raises(UsageError, match=message) as refused:
        decode(data)
    assert refused.value.next_step


@pytest.mark.parametrize(
    ("judgements", "stage", "command"),
    [
        ([judged(ran(output()))], Stage.RUN, "opsdebug ci --stage smoke"),
        ([judged(ran(output()))], Stage.SMOKE, 'opsdebug sql "select operator, count(*) from accuracy group by 1"'),
        ([], Stage.SMOKE, "opsdebug doctor"),
    ],
)
def test_next_step_when_nothing_failed(judgements, stage, command):
    document = run_document(judgements, stage=stage)
    assert document.next == (command,)
    assert document.stage == (None if stage is Stage.RUN else "smoke")


def test_committed_schema_of_what_a_job_leaves_is_the_derived_one():
    assert COMMITTED.with_name("opsdebug.shard.1.json").read_text() == schema_text("opsdebug.shard/1")
