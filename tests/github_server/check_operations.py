"""Check runs: what GitHub takes, adds up and refuses.

Decides from the words of GitHub's documentation and of its answers in public threads, not from its description, which
the referee has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from github_server.answers import Answer, Refusal, error, invalid_request, not_found
from github_server.calls import Call
from github_server.records import Check
from github_server.run_documents import annotation_document, check_document
from github_server.state import APPS

ANNOTATIONS_LIMIT = 50
"""Of one request."""

TEXT_LIMIT = 65_535
"""Characters of a summary or text."""

CONCLUSIONS = ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out")
STATUSES = ("queued", "in_progress", "completed")
LEVELS = ("notice", "warning", "failure")
CREATE_PAGE = "/checks/runs#create-a-check-run"
UPDATE_PAGE = "/checks/runs#update-a-check-run"


def create_check(call: Call) -> Answer:
    """A new check run, even where one of that name is."""
    body = call.body
    for name in ("name", "head_sha"):
        if not isinstance(body.get(name), str) or not body[name]:
            raise Refusal(invalid_request(f'"{name}" wasn\'t supplied.', CREATE_PAGE))
    if not call.state.knows_commit(call.full_name, body["head_sha"]):
        raise Refusal(error(422, f"No commit found for SHA: {body['head_sha']}", CREATE_PAGE))
    blank = Check(
        id=call.state.new_id(),
        repository=call.full_name,
        name=body["name"],
        head_sha=body["head_sha"],
        status="queued",
        conclusion=None,
        app=_app(call),
        started_at=call.state.now(),
    )
    made = _changed(call, blank, CREATE_PAGE)
    call.state.checks[made.id] = made
    return Answer(status=201, value=check_document(call.documents, made))


def get_check(call: Call) -> Answer:
    """One check run."""
    return Answer(value=check_document(call.documents, _check(call)))


def update_check(call: Call) -> Answer:
    """Changes what is given; annotations are added to those there are."""
    old = _check(call)
    if old.app != _app(call):
        text = (
            f"Invalid app_id `{APPS[_app(call)]}` - check run can only be modified by the GitHub App that created it."
        )
        raise Refusal(error(403, text, UPDATE_PAGE))
    new = _changed(call, old, UPDATE_PAGE)
    call.state.checks[new.id] = new
    return Answer(value=check_document(call.documents, new))


def list_annotations(call: Call) -> Answer:
    """Annotations of a check run."""
    check = _check(call)
    return call.listed(check.annotations, lambda one: annotation_document(call.documents, check, one))


def list_checks(call: Call) -> Answer:
    """Check runs of a commit; of those with one name and app the newest, unless `filter=all`."""
    found = [
        one
        for _, one in sorted(call.state.checks.items(), reverse=True)
        if (one.repository, one.head_sha) == (call.full_name, call.values["ref"])
        and call.query.get("check_name", one.name) == one.name
        and call.query.get("status", one.status) == one.status
        and call.query.get("app_id", str(APPS[one.app])) == str(APPS[one.app])
    ]
    if call.query.get("filter", "latest") == "latest":
        newest: dict[tuple[str, str], Check] = {}
        for one in found:
            newest.setdefault((one.app, one.name), one)
        found = list(newest.values())
    return call.listed(found, lambda one: check_document(call.documents, one), within="check_runs")


def _changed(call: Call, old: Check, page: str) -> Check:
    body = call.body
    status = body.get("status", old.status)
    conclusion = body.get("conclusion")
    _member(status, STATUSES, page)
    if conclusion is not None:
        _member(conclusion, CONCLUSIONS, page)
        status = "completed"
    elif body.get("status") == "completed" and old.conclusion is None:
        raise Refusal(invalid_request('"conclusion" wasn\'t supplied.', page))
    elif status == "completed":
        conclusion = old.conclusion
    done = body.get("completed_at", old.completed_at or call.state.now()) if status == "completed" else None
    same = {name: body[name] for name in ("name", "external_id", "details_url", "started_at") if name in body}
    new = replace(old, status=status, conclusion=conclusion, completed_at=done, **same)
    return _with_output(new, body["output"], page) if "output" in body else new


def _with_output(old: Check, output: Mapping[str, Any], page: str) -> Check:
    wanted = ("title", "summary") if page == CREATE_PAGE else ("summary",)
    for name in wanted:
        if not output.get(name):
            raise Refusal(invalid_request(f'"{name}" wasn\'t supplied.', page))
    for name in ("summary", "text"):
        _short(output.get(name, ""), TEXT_LIMIT, page)
    annotations = output.get("annotations", [])
    if len(annotations) > ANNOTATIONS_LIMIT:
        text = f"No more than {ANNOTATIONS_LIMIT} items are allowed; {len(annotations)} were supplied."
        raise Refusal(invalid_request(text, page))
    for one in annotations:
        _annotation(one, page)
    texts = {name: output[name] for name in ("title", "summary", "text") if name in output}
    return replace(old, annotations=(*old.annotations, *annotations), **texts)


def _annotation(one: Mapping[str, Any], page: str) -> None:
    for name in ("path", "start_line", "end_line", "annotation_level", "message"):
        if one.get(name) in (None, ""):
            raise Refusal(invalid_request(f'"{name}" wasn\'t supplied.', page))
    _member(one["annotation_level"], LEVELS, page)
    if one["start_line"] != one["end_line"] and ("start_column" in one or "end_column" in one):
        raise Refusal(invalid_request("Columns are only allowed on one and the same line.", page))
    _short(one.get("title", ""), 255, page)
    for name in ("message", "raw_details"):
        _short(one.get(name, ""), 64 * 1024, page)


def _member(value: object, allowed: tuple[str, ...], page: str) -> None:
    if value not in allowed:
        raise Refusal(invalid_request(f"{value} is not a member of {list(allowed)}.", page))


def _short(text: str, limit: int, page: str) -> None:
    if len(text) > limit:
        raise Refusal(invalid_request(f"Only {limit} characters are allowed; {len(text)} were supplied.", page))


def _check(call: Call) -> Check:
    found = call.state.checks.get(call.number("check_run_id"))
    if found is None or found.repository != call.full_name:
        raise Refusal(not_found("/checks/runs"))
    return found


def _app(call: Call) -> str:
    if call.token is None or not call.token.app:
        raise Refusal(error(403, "You must authenticate via a GitHub App.", CREATE_PAGE))
    return call.token.app
