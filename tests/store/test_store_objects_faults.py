"""A bucket that cannot be reached, is busy, or says no: what passes is waited for, the rest is one clear error."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from object_servers import DAY, KEY, SECRET, TOKEN, Answer, Front, Rule, Storage, in_front, run_files, running

from opsdebug_ci.errors import StoreError, StoreUnreachableError
from opsdebug_ci.store.places.backend import StoreFile
from opsdebug_ci.store.places.object_faults import Fault, fault_of
from opsdebug_ci.store.places.objects import ObjectBackend

pytestmark = pytest.mark.slow

SLOW_DOWN = Answer(status=503, code="SlowDown", message="Please reduce your request rate")
CUT = Answer(status=0)


@pytest.fixture
def front(s3: Storage) -> Iterator[Front]:
    with in_front(s3) as found:
        yield found


def first(times: int, answer: Answer) -> Rule:
    """Say `answer` to the first tries of every request."""
    tries: Counter[tuple[str, str]] = Counter()

    def rule(method: str, path: str) -> Answer | None:
        tries[method, path] += 1
        return answer if tries[method, path] <= times else None

    return rule


def to(method: str, part: str, answer: Answer) -> Rule:
    """Say `answer` to every request of this method with this in its path."""
    return lambda got, path: answer if got == method and part in path else None


@pytest.mark.parametrize(
    ("answer", "times"),
    [(SLOW_DOWN, 3), (CUT, 1), (Answer(status=500, code="InternalError"), 1), (Answer(status=502), 1)],
)
def test_what_passes_is_waited_for(front: Front, answer: Answer, times: int, tmp_path: Path) -> None:
    base = f"bucket/passes-{answer.status}"
    front.rule = first(times, answer)
    backend = front.storage.backend(base, tmp_path)
    backend.add(run_files("r1"))
    assert backend.read(f"runs/{DAY}/r1.parquet") == b"runs"
    assert len(backend.entries()) == 5
    assert len([seen for seen in front.seen if seen == f"PUT /{base}/runs/{DAY}/r1.parquet"]) == times + 1


@pytest.mark.parametrize("answer", [SLOW_DOWN, CUT])
def test_what_does_not_pass_is_given_up(front: Front, answer: Answer, tmp_path: Path) -> None:
    front.rule = lambda method, path: answer
    backend = front.storage.backend("bucket/never", tmp_path, patience_s=2.0)
    with pytest.raises(
        StoreUnreachableError, match=r"cannot read from store `s3://bucket/never`: the server cannot"
    ) as e:
        backend.add(run_files("r1"))
    assert "next: try again when the server can be reached" in str(e.value)
    assert len(front.seen) > 2


@pytest.mark.parametrize(
    ("answer", "says", "step"),
    [
        (Answer(status=403, code="AccessDenied"), "access is denied", "has the policy"),
        (Answer(status=403, code="InvalidAccessKeyId"), "credentials are missing, expired or wrong", "valid"),
        (Answer(status=403, code="SignatureDoesNotMatch"), "credentials are missing, expired or wrong", "valid"),
        (Answer(status=400, code="ExpiredToken"), "credentials are missing, expired or wrong", "valid"),
        (Answer(status=301, code="PermanentRedirect"), "lies in another region", "set AWS_REGION"),
        (Answer(status=400, code="AuthorizationHeaderMalformed"), "lies in another region", "set AWS_REGION"),
        (Answer(status=403, code="RequestTimeTooSkewed"), "clock of this machine", "set the clock"),
        (Answer(status=400, code="Peculiar"), "the server refused", "server's words"),
    ],
    ids=lambda value: value.code if isinstance(value, Answer) else "",
)
def test_a_refusal_says_what_to_do_at_once_and_no_secret(
    front: Front, answer: Answer, says: str, step: str, tmp_path: Path
) -> None:
    echo = Answer(status=answer.status, code=answer.code, message=f"was {KEY} {SECRET} {TOKEN}")
    front.rule = lambda method, path: echo
    backend = front.storage.backend("bucket/refused", tmp_path)
    for attempt in (backend.exists, backend.check_writable, lambda: backend.add(run_files("r1")), backend.mirror):
        front.seen.clear()
        with pytest.raises(StoreError, match=says) as caught:
            attempt()
        assert step in caught.value.next_step
        assert not isinstance(caught.value, StoreUnreachableError)
        assert "was *** *** ***" in str(caught.value)
        assert [seen.split()[0] for seen in front.seen] == ["HEAD", "GET"], "asked again, only to hear why"
    assert not any(secret in repr(backend._bucket._access) for secret in (KEY, SECRET, TOKEN))


@pytest.mark.parametrize("kind", ["s3", "gs"])
def test_a_bucket_that_is_not_there(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    storage: Storage = request.getfixturevalue(kind)
    backend = storage.backend("no-such-bucket/baselines", tmp_path)
    for attempt in (backend.exists, backend.check_writable, lambda: backend.add(run_files("r1")), backend.mirror):
        with pytest.raises(StoreError, match="there is no such bucket") as caught:
            attempt()
        assert caught.value.next_step == "make the bucket, or set `store` to one that is there"


@pytest.mark.parametrize("table", ["accuracy", "timings"])
def test_a_run_is_not_seen_where_one_of_its_files_was_refused(front: Front, table: str, tmp_path: Path) -> None:
    base = f"bucket/refused-{table}"
    front.rule = to("PUT", f"/{table}/", Answer(status=403, code="AccessDenied"))
    backend = front.storage.backend(base, tmp_path)
    with pytest.raises(StoreError, match=r"cannot write to store .*: access is denied"):
        backend.add(run_files("r1"))
    assert not [seen for seen in front.seen if seen.startswith("PUT") and "/runs/" in seen]
    front.rule = first(0, CUT)
    backend.add(run_files("r1"))
    assert len(backend.entries()) == 5


def test_a_large_object_of_which_a_part_was_refused_is_not_there(front: Front, tmp_path: Path) -> None:
    large = StoreFile(path=f"timings/{DAY}/large.parquet", data=bytes(25_000_000))
    backend = front.storage.backend("bucket/parts", tmp_path)
    backend.add([])
    front.rule = to("PUT", "partNumber=2", Answer(status=403, code="AccessDenied"))
    with pytest.raises(StoreError, match="access is denied"):
        backend.add([large])
    assert len([seen for seen in front.seen if "partNumber=" in seen]) >= 2
    assert [entry.path for entry in backend.entries()] == ["opsdebug-store.json"]


def test_a_server_that_dies_halfway_gets_no_run(tmp_path: Path) -> None:
    with running("s3") as (storage, process), in_front(storage) as front:
        storage.make_bucket("bucket")

        def die(method: str, path: str) -> Answer | None:
            if method == "PUT" and "/timings/" in path:
                process.kill()
                process.wait()
            return None

        front.rule = die
        with pytest.raises(StoreUnreachableError, match="cannot write to store"):
            front.storage.backend("bucket/dies", tmp_path, patience_s=0.3).add(run_files("r1"))
        assert [seen for seen in front.seen if seen.startswith("PUT") and "/timings/" in seen]
        assert not [seen for seen in front.seen if seen.startswith("PUT") and "/runs/" in seen]


def test_without_a_way_there_the_last_copy_answers_and_says_so(front: Front, tmp_path: Path) -> None:
    backend = front.storage.backend("bucket/offline", tmp_path / "one", patience_s=0.3)
    backend.add(run_files("r1"))
    root = backend.mirror().root
    front.rule = lambda method, path: CUT
    mirror = backend.mirror()
    assert mirror.root == root
    assert (root / f"runs/{DAY}/r1.parquet").read_bytes() == b"runs"
    assert "store `s3://bucket/offline` could not be reached" in mirror.note
    assert "answering from the copy of 20" in mirror.note
    with pytest.raises(StoreUnreachableError):
        front.storage.backend("bucket/offline", tmp_path / "two", patience_s=0.3).mirror()


def test_the_client_library_is_loaded_when_it_is_used() -> None:
    program = (
        "import sys; from opsdebug_ci.store.places.objects import ObjectBackend; ObjectBackend('s3://bucket/x', {});"
        "print([name for name in sys.modules if name in ('pyarrow.fs', 'pyarrow._s3fs')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("AWS Error NETWORK_CONNECTION during PutObject operation: curlCode: 6, Could not resolve", Fault.TRANSIENT),
        ("AWS Error NETWORK_CONNECTION during PutObject operation: curlCode: 60, SSL peer", Fault.CERTIFICATE),
        ("AWS Error UNKNOWN (HTTP status 429) during HeadObject operation: No response body.", Fault.TRANSIENT),
        ("google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of x", Fault.TRANSIENT),
        ("google::cloud::Status(PERMISSION_DENIED: Permanent error, with a last message of x", Fault.DENIED),
        ("google::cloud::Status(UNAUTHENTICATED: Permanent error, with a last message of x", Fault.CREDENTIALS),
        ("google::cloud::Status(UNKNOWN: x Could not create a OAuth2 access token to y", Fault.CREDENTIALS),
        ("google::cloud::Status(UNAVAILABLE: x Could not create a OAuth2 access token to y", Fault.TRANSIENT),
        ("google::cloud::Status(NOT_FOUND: x gcloud-cpp.retry.function=GetObjectMetadata", Fault.ABSENT),
        ("google::cloud::Status(NOT_FOUND: x gcloud-cpp.retry.function=ListObjects", Fault.NO_BUCKET),
        ("something nobody has seen", Fault.OTHER),
    ],
)
def test_what_an_error_means(text: str, fault: Fault) -> None:
    assert fault_of(OSError(text)) is fault


def test_a_backend_of_nothing_reaches_for_nothing(tmp_path: Path) -> None:
    backend = ObjectBackend("gs://bucket/x", {"OPSDEBUG_CACHE": str(tmp_path)})
    assert (backend.location, backend.bundle_limit_bytes) == ("gs://bucket/x", None)
    assert list(tmp_path.iterdir()) == []
