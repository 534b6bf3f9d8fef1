"""What a person tells the bot on a pull request: an acceptance, and the same publication again with it.

Decides which comments and checks are made again, and that a request which is not carried out changes none.
"""

from __future__ import annotations

from dataclasses import replace

from opsdebug_ci.github.address import repository_of
from opsdebug_ci.github.api.interface import Api
from opsdebug_ci.github.api.patience import Clock
from opsdebug_ci.github.bot.author import author_named, whoami
from opsdebug_ci.github.person_event import PersonRequest
from opsdebug_ci.model.published import PublishedDocument
from opsdebug_ci.model.vocabulary import Stage
from opsdebug_ci.pipeline.publication.acceptance_request import Forge, handle_request
from opsdebug_ci.pipeline.publication.outcome import Declined
from opsdebug_ci.pipeline.publication.publish import nothing_said, publish
from opsdebug_ci.pipeline.publication.request import PublishRequest
from opsdebug_ci.pipeline.publication.told_comments import ToldComment
from opsdebug_ci.pipeline.records import configured_store
from opsdebug_ci.pipeline.world import World
from opsdebug_ci.plan import load_configuration


def answer_person(
    person: PersonRequest, request: PublishRequest, api: Api, clock: Clock, world: World
) -> PublishedDocument:
    """Do what `person` asks, if they may.

    Raises:
        UsageError: this job may not record acceptances.
        GithubError: the server does not tell what must be known.
        StoreError: the store can neither be read nor written.
    """
    configuration = load_configuration(
        world.directory, explicit=request.config, overrides={"store": request.store}, operators_required=False
    )
    author = author_named(request.author) if request.author else whoami(api)
    forge = Forge(api=api, repository=repository_of(world.environ), author=author)
    handled = handle_request(person, forge, configured_store(configuration, world.environ), world)
    if isinstance(handled, Declined):
        return nothing_said((f"nothing was accepted: {handled.reason}", *handled.notes))
    told = [
        publish(_again(request, comment), api, clock, world, accepted=handled.regressions)
        for comment in handled.comments
    ]
    if not told:
        return nothing_said(handled.notes)
    worst = max(told, key=lambda document: document.exit_code)
    notes = dict.fromkeys(note for document in told for note in document.notes)
    return replace(worst, notes=(*handled.notes, *notes))


def _again(request: PublishRequest, comment: ToldComment) -> PublishRequest:
    """The request that `comment` came from: its run, not the one of this job; and of how many shards that is, this job
    knows only for the suite and stage it is for."""
    state = comment.state
    same = (comment.suite, state.stage) == (request.suite, str(request.stage))
    return replace(
        request,
        stage=Stage(state.stage),
        suite=comment.suite,
        run_id=state.ci_run,
        attempt=state.attempt or None,
        workflow=state.workflow,
        expected=request.expected if same else None,
        whole_or_nothing=state.complete,
    )
