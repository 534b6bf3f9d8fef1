"""Accounts, repositories, pull requests, workflow runs, artifacts: what a bot looks up."""

from __future__ import annotations

from github_server.answers import Answer, Refusal, error, not_accessible, not_found
from github_server.calls import Call
from github_server.records import Artifact, Job, PullRequest, Run
from github_server.run_documents import artifact_document, job_document, run_document

RATE_LIMIT = 1000
"""Requests of an hour."""


def get_user(call: Call) -> Answer:
    """Whoever asks; a job's token is no user."""
    if call.token is None:
        raise Refusal(error(401, "Requires authentication", "/users/users#get-the-authenticated-user"))
    if call.token.kind == "job":
        raise Refusal(not_accessible("/users/users#get-the-authenticated-user"))
    user = call.documents.user(call.token.login)
    nothing = ("name", "company", "blog", "location", "email", "hireable", "bio")
    zeros = ("public_repos", "public_gists", "followers", "following")
    dates = dict.fromkeys(("created_at", "updated_at"), "2020-01-01T00:00:00Z")
    assert user is not None
    public = {"user_view_type": "public"}
    return Answer(value={**user, **dict.fromkeys(nothing), **dict.fromkeys(zeros, 0), **dates, **public})


def get_rate_limit(call: Call) -> Answer:
    """How many requests are left."""
    used = call.state.used.get(call.token.text, 0) if call.token else 0
    rate = {
        "limit": RATE_LIMIT,
        "remaining": max(0, RATE_LIMIT - used),
        "used": used,
        "reset": int(call.state.clock()) + 3600,
    }
    return Answer(value={"resources": {"core": rate, "search": rate}, "rate": rate})


def get_repository(call: Call) -> Answer:
    """A repository."""
    return Answer(value=call.documents.full_repository(call.repository))


def get_permission(call: Call) -> Answer:
    """What somebody may do, in the four old words; `role_name` has the newer one."""
    login = call.values["username"]
    if login not in call.state.accounts:
        raise Refusal(not_found("/collaborators/collaborators"))
    role = call.state.role(call.repository, login)
    user = call.documents.user(login)
    assert user is not None
    old = {"maintain": "write", "triage": "read"}.get(role, role)
    return Answer(value={"permission": old, "role_name": role, "user": {**user, "role_name": role}})


def list_pulls(call: Call) -> Answer:
    """Pull requests, newest first; `head` counts as `owner:branch` only."""
    state = call.query.get("state", "open")
    head = call.query.get("head", "")
    base = call.query.get("base", "")
    found = [
        one
        for one in call.state.pulls_of(call.full_name)
        if state in ("all", one.state)
        and (":" not in head or head == f"{one.head.owner}:{one.head.ref}")
        and base in ("", one.base.ref)
    ]
    if call.query.get("direction", "desc") == "desc":
        found.reverse()
    return call.listed(found, call.documents.pull_simple)


def get_pull(call: Call) -> Answer:
    """A pull request."""
    return Answer(value=call.documents.pull(call.pull("pull_number")))


def list_pulls_of_commit(call: Call) -> Answer:
    """Pull requests that have a commit, whether or not it is still their newest; the closed ones only where merged."""
    sha = call.values["commit_sha"]
    if not call.state.knows_commit(call.full_name, sha):
        raise Refusal(error(422, f"No commit found for SHA: {sha}", "/commits/commits"))

    def has(one: PullRequest) -> bool:
        return sha in (one.head.sha, *one.commits) and (one.state == "open" or one.merged)

    return call.listed([one for one in call.state.pulls_of(call.full_name) if has(one)], call.documents.pull_simple)


def list_runs(call: Call) -> Answer:
    """Runs, newest first."""
    query = call.query
    found = [
        one
        for _, one in sorted(call.state.runs.items(), reverse=True)
        if one.repository == call.full_name
        and query.get("head_sha", one.head_sha) == one.head_sha
        and query.get("event", one.event) == one.event
        and query.get("branch", one.head_branch) == one.head_branch
        and query.get("status", one.status) in (one.status, one.conclusion)
    ]
    return call.listed(found, lambda one: run_document(call.documents, one), within="workflow_runs")


def get_run(call: Call) -> Answer:
    """A run."""
    return Answer(value=run_document(call.documents, _run(call)))


def list_artifacts(call: Call) -> Answer:
    """Artifacts of a run, newest first."""
    run = _run(call)
    found = [
        one
        for _, one in sorted(call.state.artifacts.items(), reverse=True)
        if one.run == run.id and call.query.get("name", one.name) == one.name
    ]
    if call.query.get("direction") == "asc":
        found.reverse()
    return call.listed(found, lambda one: artifact_document(call.documents, one), within="artifacts")


def list_jobs(call: Call) -> Answer:
    """Jobs of a run, oldest first: of each name the newest, unless `filter=all`."""
    run = _run(call)
    found = [one for _, one in sorted(call.state.jobs.items()) if one.run == run.id]
    if call.query.get("filter", "latest") == "latest":
        newest: dict[str, Job] = {}
        for one in found:
            newest[one.name] = one
        found = sorted(newest.values(), key=lambda one: one.id)
    return call.listed(found, lambda one: job_document(call.documents, one), within="jobs")


def get_artifact(call: Call) -> Artifact:
    """The artifact whose archive is asked for; where it lies is the server's to say."""
    found = call.state.artifacts.get(call.number("artifact_id"))
    if found is None or found.repository != call.full_name or call.values["archive_format"] != "zip":
        raise Refusal(not_found("/actions/artifacts#download-an-artifact"))
    if call.token is None:
        raise Refusal(error(401, "Requires authentication", "/actions/artifacts#download-an-artifact"))
    if found.expired:
        raise Refusal(error(410, "Artifact has expired", "/actions/artifacts#download-an-artifact"))
    return found


def _run(call: Call) -> Run:
    found = call.state.runs.get(call.number("run_id"))
    if found is None or found.repository != call.full_name:
        raise Refusal(not_found("/actions/workflow-runs#get-a-workflow-run"))
    return found
