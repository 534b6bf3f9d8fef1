"""A fake GitHub for tests: REST on 127.0.0.1, every request and answer held against GitHub's own OpenAPI description.

with GithubServer() as server:
    server.repository("acme/kernels")
    server.pull_request("acme/kernels", 7, head_sha="a" * 40)
    token = server.token(permissions={"pull-requests": "write"}, repository="acme/kernels")
    server.fail("POST", "/repos/*/*/issues/*/comments", outage(502, acted=True))
"""

from __future__ import annotations

from github_server.answers import Answer as Answer
from github_server.faults import answered as answered
from github_server.faults import dribble as dribble
from github_server.faults import endless as endless
from github_server.faults import garbled as garbled
from github_server.faults import outage as outage
from github_server.faults import primary_rate_limit as primary_rate_limit
from github_server.faults import redirected as redirected
from github_server.faults import reset as reset
from github_server.faults import retyped as retyped
from github_server.faults import secondary_rate_limit as secondary_rate_limit
from github_server.faults import stalled as stalled
from github_server.faults import too_many_requests as too_many_requests
from github_server.faults import truncated as truncated
from github_server.server import GithubServer as GithubServer
