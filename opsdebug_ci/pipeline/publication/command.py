"""`opsdebug publish` in a job: with which token, for which event.

Decides that a job which a person's comment or label started does what the person asks, if they may, and nothing else:
it has no run of its own to tell of. Every other job tells what its run found.
"""

from __future__ import annotations

from collections.abc import Mapping

from opsdebug_ci.errors import UsageError
from opsdebug_ci.github.address import api_url_of
from opsdebug_ci.github.api.client import Client, open_client
from opsdebug_ci.github.api.patience import SystemClock
from opsdebug_ci.github.bot.instruction import label_instruction
from opsdebug_ci.github.environment import token_of
from opsdebug_ci.github.inputs import AUTHOR, AUTHOR_WORDS, SUITE, SUITE_WORDS, WORKFLOW, WORKFLOW_WORDS
from opsdebug_ci.github.person_event import read_person_request
from opsdebug_ci.model.published import PublishedDocument
from opsdebug_ci.pipeline.publication.publish import nothing_said, publish
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.pipeline.writing import ACCEPTING_EVENTS


def publish_here(request: PublishRequest, world: World) -> PublishedDocument:
    """Publish as this job may.

    Raises:
        UsageError: what is asked cannot be.
        GithubError, ArtifactError, StoreError: as `publish` and `answer_person` do.
    """
    _check(request)
    clock = SystemClock()
    api = _client(world.environ)
    person = read_person_request(world.environ)
    of_person = world.environ.get("GITHUB_EVENT_NAME", "") in ACCEPTING_EVENTS
    if person is None and of_person:
        return nothing_said(("nothing was told to the bot",))
    if person is None or api is None or not (of_person or label_instruction(person.label)):
        return publish(request, api, clock, world)
    if request.dry_run:
        raise UsageError(
            "`--dry-run` in a job that a person's comment or label started; wanted it elsewhere: what they ask is "
            "recorded, or it is not",
            next_step="leave it out, or run it by hand with `--run-id ID`",
        )
    # NOTE: only these jobs need a store, and what reads one need not be installed in the others.
    from opsdebug_ci.pipeline.publication.person import answer_person  # noqa: PLC0415 - as the line above says

    return answer_person(person, request, api, clock, world)


def _check(request: PublishRequest) -> None:
    problems = [
        f"`{option}` is {text[:100]!a}; wanted {words}"
        for option, text, form, words in (
            ("--id", request.suite, SUITE, SUITE_WORDS),
            ("--author", request.author or None, AUTHOR, AUTHOR_WORDS),
            ("--workflow", request.workflow or None, WORKFLOW, WORKFLOW_WORDS),
        )
        if text is not None and not form.fullmatch(text)
    ]
    if problems:
        raise UsageError("; ".join(problems), next_step="give what the inputs of the action may be, see docs/action.md")


def _client(environ: Mapping[str, str]) -> Client | None:
    """None: there is no token."""
    token = token_of(environ)
    if not token:
        return None
    return open_client(api_url=api_url_of(environ), token=token, ca_bundle=environ.get("SSL_CERT_FILE", ""))
