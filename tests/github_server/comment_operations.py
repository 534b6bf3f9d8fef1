"""Comments, reactions, labels: what GitHub does about the conversation of a pull request."""

from __future__ import annotations

from dataclasses import replace

from github_server.answers import Answer, Refusal, error, invalid, not_found
from github_server.calls import Call
from github_server.records import Comment, Reaction

COMMENT_LIMIT = 65_536
"""Characters of a body, by the text of GitHub's error."""

CREATE_PAGE = "/issues/comments#create-an-issue-comment"
UPDATE_PAGE = "/issues/comments#update-an-issue-comment"


def get_issue(call: Call) -> Answer:
    """The pull request as an issue."""
    return Answer(value=call.documents.issue(call.pull("issue_number")))


def list_labels(call: Call) -> Answer:
    """Labels it has now."""
    pull = call.pull("issue_number")
    return call.listed(pull.labels, lambda name: call.documents.label(pull.repository, name))


def list_events(call: Call) -> Answer:
    """Labels put on and taken off, oldest first."""
    pull = call.pull("issue_number")
    mine = [
        one
        for one in call.state.label_events.values()
        if (one.repository, one.number) == (pull.repository, pull.number)
    ]
    return call.listed(mine, call.documents.label_event)


def list_comments(call: Call) -> Answer:
    """Comments, oldest first."""
    pull = call.pull("issue_number")
    since = call.query.get("since", "")
    mine = [
        one
        for _, one in sorted(call.state.comments.items())
        if (one.repository, one.number) == (pull.repository, pull.number) and one.updated_at >= since
    ]
    return call.listed(mine, call.documents.comment)


def create_comment(call: Call) -> Answer:
    """A new comment, of whoever asks."""
    pull = call.pull("issue_number")
    if pull.locked:
        raise Refusal(error(403, "Unable to create comment because issue is locked.", CREATE_PAGE))
    body = _body(call, CREATE_PAGE)
    now = call.state.now()
    number = call.state.new_id()
    made = Comment(
        id=number,
        repository=pull.repository,
        number=pull.number,
        author=_asker(call),
        body=body,
        created_at=now,
        updated_at=now,
    )
    call.state.comments[number] = made
    document = call.documents.comment(made)
    return Answer(status=201, value=document, headers={"Location": document["url"]})


def get_comment(call: Call) -> Answer:
    """One comment."""
    return Answer(value=call.documents.comment(_comment(call)))


def update_comment(call: Call) -> Answer:
    """Another text, of anybody's comment: a token that may write may do so."""
    old = _comment(call)
    new = replace(old, body=_body(call, UPDATE_PAGE), updated_at=call.state.now())
    call.state.comments[old.id] = new
    return Answer(value=call.documents.comment(new))


def delete_comment(call: Call) -> Answer:
    """No comment any more."""
    del call.state.comments[_comment(call).id]
    return Answer(status=204, empty=True)


def create_reaction(call: Call) -> Answer:
    """An emoji; 200 when whoever asks had already given it."""
    comment = _comment(call)
    content = call.body.get("content")
    if content not in ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"):
        raise Refusal(invalid("Reaction", "invalid", "content", f"content is not one of the reactions: {content}"))
    for one in call.state.reactions.values():
        if (one.comment, one.author, one.content) == (comment.id, _asker(call), content):
            return Answer(value=call.documents.reaction(one))
    number = call.state.new_id()
    made = Reaction(id=number, comment=comment.id, author=_asker(call), content=content, created_at=call.state.now())
    call.state.reactions[number] = made
    return Answer(status=201, value=call.documents.reaction(made))


def _asker(call: Call) -> str:
    assert call.token is not None
    return call.token.login


def _comment(call: Call) -> Comment:
    found = call.state.comments.get(call.number("comment_id"))
    if found is None or found.repository != call.full_name:
        raise Refusal(not_found("/issues/comments#get-an-issue-comment"))
    return found


def _body(call: Call, page: str) -> str:
    body = call.body.get("body")
    if not isinstance(body, str):
        raise Refusal(error(422, 'Invalid request.\n\n"body" wasn\'t supplied.', page))
    if not body.strip():
        raise Refusal(invalid("IssueComment", "unprocessable", "data", "Body cannot be blank", page))
    if len(body) > COMMENT_LIMIT:
        message = f"Body is too long (maximum is {COMMENT_LIMIT} characters)"
        raise Refusal(invalid("IssueComment", "unprocessable", "data", message, page))
    return body
