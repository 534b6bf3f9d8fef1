"""What complaints mean, in the words in which git 2.39 and the servers say them."""

from __future__ import annotations

import pytest

from opsdebug_ci.git.refusal import Refusal, refusal_of


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        (" ! [rejected] abc -> x (stale info)\nerror: failed to push some refs to 'x'", Refusal.OVERTAKEN),
        (" ! [rejected] abc -> x (fetch first)", Refusal.OVERTAKEN),
        (" ! [remote rejected] abc -> x (cannot lock ref 'refs/heads/x': is at 1 but expected 2)", Refusal.OVERTAKEN),
        (" ! [remote rejected] abc -> x (failed to update ref)", Refusal.OVERTAKEN),
        ("remote: error: denying non-fast-forward refs/heads/x (you should pull first)", Refusal.NO_REWRITE),
        (
            "remote: error: GH006: Protected branch update failed.\nremote: error: Cannot force-push to",
            Refusal.NO_REWRITE,
        ),
        ("remote: error: GH006: Protected branch update failed for refs/heads/x.", Refusal.PROTECTED),
        ("remote: error: GH013: Repository rule violations found for refs/heads/x.", Refusal.PROTECTED),
        ("remote: Permission to o/r.git denied to github-actions[bot].", Refusal.AUTHENTICATION),
        ("fatal: unable to access 'https://h/': The requested URL returned error: 403", Refusal.AUTHENTICATION),
        ("fatal: could not read Username for 'https://h': terminal prompts disabled", Refusal.AUTHENTICATION),
        (
            "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            Refusal.AUTHENTICATION,
        ),
        ("Host key verification failed.\nfatal: Could not read from remote repository.", Refusal.AUTHENTICATION),
        ("remote: Repository not found.\nfatal: repository 'https://h/' not found", Refusal.MISSING),
        ("fatal: '/x' does not appear to be a git repository", Refusal.MISSING),
        ("fatal: unable to access 'https://h/': The requested URL returned error: 301", Refusal.MOVED),
        ("fatal: unable to access 'https://h/': Could not resolve host: h", Refusal.UNREACHABLE),
        ("fatal: unable to access 'https://h/': Failed to connect to h port 443", Refusal.UNREACHABLE),
        ("ssh: connect to host h port 22: Connection refused", Refusal.UNREACHABLE),
        ("git push: no end within 600 s", Refusal.UNREACHABLE),
        ("error: refusing to update checked out branch: refs/heads/main", Refusal.CHECKED_OUT),
        ("remote: fatal: write error: No space left on device", Refusal.UNWRITABLE),
        ("fatal: mismatched algorithms: client sha1; server sha256", Refusal.UNFIT),
        ("remote: we say no\n ! [remote rejected] abc -> x (pre-receive hook declined)", Refusal.DECLINED),
        (
            "remote: error: cannot lock ref\n ! [remote rejected] abc -> x (pre-receive hook declined)",
            Refusal.OVERTAKEN,
        ),
        ("fatal: the remote end hung up unexpectedly", Refusal.UNKNOWN),
        ("error: RPC failed; HTTP 502 curl 22", Refusal.UNKNOWN),
        ("", Refusal.UNKNOWN),
    ],
)
def test_what_a_complaint_means(said: str, meaning: Refusal) -> None:
    assert refusal_of(said) is meaning


def test_only_what_may_pass_is_tried_again() -> None:
    assert {one for one in Refusal if not one.final} == {
        Refusal.OVERTAKEN,
        Refusal.NO_REWRITE,
        Refusal.UNREACHABLE,
        Refusal.DECLINED,
        Refusal.UNKNOWN,
    }
