"""GitHub's JSON of accounts, repositories, pull requests, issues, labels and comments.

Decides how a remembered value is told; the referee holds it against GitHub's description.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from github_server.records import Comment, LabelEvent, PullRequest, Reaction, Repository, Side
from github_server.repository_links import account_links, repository_links
from github_server.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """Tells what `state` remembers."""

    state: State
    api: str
    """Address of the interface, without a slash at the end."""

    html: str
    """Address of the pages for people, without a slash at the end."""

    def user(self, login: str | None) -> dict[str, Any] | None:
        """An account; None: it is gone."""
        if login is None:
            return None
        one = self.state.account(login)
        api = f"{self.api}/users/{login}"
        return {
            "login": login,
            "id": one.id,
            "node_id": node_id("U", one.id),
            "avatar_url": f"{self.html}/avatars/{one.id}",
            "gravatar_id": "",
            "url": api,
            "html_url": f"{self.html}/{login}",
            "type": one.type,
            "site_admin": False,
            **account_links(api),
        }

    def minimal_repository(self, one: Repository) -> dict[str, Any]:
        """A repository as part of something else."""
        api = f"{self.api}/repos/{one.full_name}"
        return {
            "id": one.id,
            "node_id": node_id("R", one.id),
            "name": one.name,
            "full_name": one.full_name,
            "owner": self.user(one.owner),
            "private": one.private,
            "html_url": f"{self.html}/{one.full_name}",
            "description": None,
            "fork": one.fork,
            "url": api,
            **repository_links(api),
        }

    def repository(self, one: Repository) -> dict[str, Any]:
        """A repository as an end of a pull request."""
        zeros = ("forks", "forks_count", "stargazers_count", "watchers", "watchers_count", "open_issues")
        return {
            **self.minimal_repository(one),
            **dict.fromkeys(zeros, 0),
            "open_issues_count": 0,
            "size": 1,
            "git_url": f"git://127.0.0.1/{one.full_name}.git",
            "ssh_url": f"git@127.0.0.1:{one.full_name}.git",
            "clone_url": f"{self.html}/{one.full_name}.git",
            "svn_url": f"{self.html}/{one.full_name}",
            **dict.fromkeys(("mirror_url", "homepage", "language", "license"), None),
            "default_branch": one.default_branch,
            **dict.fromkeys(("has_issues", "has_projects", "has_wiki", "has_downloads"), True),
            **dict.fromkeys(("has_pages", "has_discussions", "archived", "disabled"), False),
            "visibility": "private" if one.private else "public",
            "pushed_at": one.created_at,
            "created_at": one.created_at,
            "updated_at": one.created_at,
        }

    def full_repository(self, one: Repository) -> dict[str, Any]:
        """A repository asked for by itself."""
        return {**self.repository(one), "subscribers_count": 0, "network_count": 0}

    def side(self, one: Side) -> dict[str, Any]:
        """One end of a pull request."""
        repository = self.state.repository(one.repository) if one.repository else None
        return {
            "label": f"{one.owner}:{one.ref}",
            "ref": one.ref,
            "sha": one.sha,
            "user": self.user(one.owner),
            "repo": None if repository is None else self.repository(repository),
        }

    def pull_simple(self, one: PullRequest) -> dict[str, Any]:
        """A pull request in a list."""
        repository = f"{self.api}/repos/{one.repository}"
        api = f"{repository}/pulls/{one.number}"
        issue = f"{repository}/issues/{one.number}"
        html = f"{self.html}/{one.repository}/pull/{one.number}"
        links = {
            "html": html,
            "issue": issue,
            "comments": f"{issue}/comments",
            "review_comments": f"{api}/comments",
            "review_comment": f"{repository}/pulls/comments{{/number}}",
            "commits": f"{api}/commits",
            "statuses": f"{repository}/statuses/{one.head.sha}",
        }
        return {
            "url": api,
            "id": one.id,
            "node_id": node_id("PR", one.id),
            "html_url": html,
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            **{f"{name}_url": address for name, address in links.items() if name != "html"},
            "number": one.number,
            "state": one.state,
            "locked": one.locked,
            "title": one.title,
            "user": self.user(one.author),
            "body": None,
            "labels": [self.label(one.repository, name) for name in one.labels],
            "created_at": one.created_at,
            "updated_at": one.updated_at,
            "closed_at": one.updated_at if one.state == "closed" else None,
            "merged_at": one.updated_at if one.merged else None,
            "merge_commit_sha": one.merge_commit_sha,
            **dict.fromkeys(("milestone", "assignee", "auto_merge"), None),
            "head": self.side(one.head),
            "base": self.side(one.base),
            "author_association": "NONE",
            "draft": False,
            "_links": {"self": {"href": api}, **{name: {"href": address} for name, address in links.items()}},
        }

    def pull(self, one: PullRequest) -> dict[str, Any]:
        """A pull request asked for by itself."""
        comments = sum(c.repository == one.repository and c.number == one.number for c in self.state.comments.values())
        return {
            **self.pull_simple(one),
            "merged": one.merged,
            "mergeable": None if one.state == "closed" else True,
            "mergeable_state": "unknown" if one.state == "closed" else "clean",
            "merged_by": None,
            "comments": comments,
            "review_comments": 0,
            "maintainer_can_modify": False,
            "commits": 1 + len(one.commits),
            "additions": 1,
            "deletions": 0,
            "changed_files": 1,
        }

    def issue(self, one: PullRequest) -> dict[str, Any]:
        """A pull request as the issue it also is."""
        repository = f"{self.api}/repos/{one.repository}"
        api = f"{repository}/issues/{one.number}"
        pull = self.pull(one)
        same = ("number", "state", "title", "user", "labels", "locked", "comments", "body", "created_at", "updated_at")
        return {
            "id": one.id,
            "node_id": node_id("PR", one.id),
            "url": api,
            "repository_url": repository,
            "labels_url": f"{api}/labels{{/name}}",
            "comments_url": f"{api}/comments",
            "events_url": f"{api}/events",
            "html_url": pull["html_url"],
            **{
                name: pull[name]
                for name in (*same, "closed_at", "assignee", "milestone", "author_association", "draft")
            },
            "pull_request": {
                "url": pull["url"],
                "html_url": pull["html_url"],
                "diff_url": pull["diff_url"],
                "patch_url": pull["patch_url"],
                "merged_at": pull["merged_at"],
            },
        }

    def label(self, repository: str, name: str) -> dict[str, Any]:
        """A label; its id follows from its name."""
        number = zlib.crc32(name.encode())
        return {
            "id": number,
            "node_id": node_id("LA", number),
            "url": f"{self.api}/repos/{repository}/labels/{number}",
            "name": name,
            "description": "",
            "color": "ededed",
            "default": False,
        }

    def label_event(self, one: LabelEvent) -> dict[str, Any]:
        """A label put on or taken off."""
        return {
            "id": one.id,
            "node_id": node_id("LE", one.id),
            "url": f"{self.api}/repos/{one.repository}/issues/events/{one.id}",
            "actor": self.user(one.actor),
            "event": one.event,
            "commit_id": None,
            "commit_url": None,
            "created_at": one.created_at,
            "label": {"name": one.label, "color": "ededed"},
            "performed_via_github_app": None,
        }

    def comment(self, one: Comment) -> dict[str, Any]:
        """A comment."""
        repository = f"{self.api}/repos/{one.repository}"
        return {
            "id": one.id,
            "node_id": node_id("IC", one.id),
            "url": f"{repository}/issues/comments/{one.id}",
            "html_url": f"{self.html}/{one.repository}/pull/{one.number}#issuecomment-{one.id}",
            "issue_url": f"{repository}/issues/{one.number}",
            "user": self.user(one.author),
            "created_at": one.created_at,
            "updated_at": one.updated_at,
            "author_association": "NONE",
            "body": one.body,
            "performed_via_github_app": None,
        }

    def reaction(self, one: Reaction) -> dict[str, Any]:
        """A reaction."""
        return {
            "id": one.id,
            "node_id": node_id("RE", one.id),
            "user": self.user(one.author),
            "content": one.content,
            "created_at": one.created_at,
        }


def node_id(kind: str, number: int) -> str:
    """Name of the other interface, which nobody here uses."""
    return f"{kind}_{number:012x}"
