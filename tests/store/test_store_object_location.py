"""What a location in object storage may be, and what the environment says of the way there."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from opsdebug_ci.errors import UsageError
from opsdebug_ci.store.places.object_location import ObjectAccess, read_access, read_location


@pytest.mark.parametrize(
    ("text", "bucket", "prefix"),
    [
        ("s3://my-bucket", "my-bucket", ""),
        ("s3://my-bucket/", "my-bucket", ""),
        ("S3://my.bucket/a/b/", "my.bucket", "a/b"),
        ("gs://my_bucket/päth with+signs=&%20", "my_bucket", "päth with+signs=&%20"),
    ],
)
def test_a_location_is_a_bucket_and_a_prefix(text: str, bucket: str, prefix: str) -> None:
    location = read_location(text)
    assert (location.bucket, location.prefix) == (bucket, prefix)
    assert location.base == f"{bucket}/{prefix}".rstrip("/")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("s3:bucket/x", "two slashes and a bucket must follow the first colon"),
        ("ftp://bucket/x", "two slashes and a bucket must follow the first colon"),
        ("s3:///x", "names no bucket"),
        ("s3://", "names no bucket"),
        ("s3://AKIDCANARY:canary@bucket/x", "credentials, a port or settings"),
        ("s3://canary@bucket/x", "credentials, a port or settings"),
        ("s3://bucket:9000/x", "credentials, a port or settings"),
        ("s3://bucket/x?access_key=canary", "credentials, a port or settings"),
        ("s3://bucket/x#canary", "credentials, a port or settings"),
        ("s3://Bucket/x", "cannot be the name of a bucket"),
        ("s3://b/x", "cannot be the name of a bucket"),
        ("s3://bucket//x", "empty part"),
        ("s3://bucket/a//x", "empty part"),
        ("s3://bucket/a/../x", "`.` or `..`"),
        ("s3://bucket/..", "`.` or `..`"),
        ("s3://bucket/./x", "`.` or `..`"),
        ("s3://bucket/a\nb", "control characters"),
        ("s3://bucket/" + "a" * 701, "more than 700 bytes"),
    ],
)
def test_what_is_no_location_is_refused_without_repeating_a_secret(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        read_location(text)
    assert "canary" not in str(caught.value)
    assert "wanted `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`" in str(caught.value)


def access(scheme: str, environ: Mapping[str, str]) -> ObjectAccess:
    return read_access(read_location(f"{scheme}://bucket/x"), environ)


@pytest.mark.parametrize(
    ("scheme", "environ", "endpoint", "encrypted", "region"),
    [
        ("s3", {}, None, True, None),
        ("s3", {"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "x"}, None, True, "eu-north-1"),
        ("s3", {"AWS_DEFAULT_REGION": "eu-north-1"}, None, True, "eu-north-1"),
        ("s3", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}, "127.0.0.1:9000", False, "us-east-1"),
        ("s3", {"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "https://b/"}, "b", True, "us-east-1"),
        ("s3", {"AWS_ENDPOINT_URL": "http://a", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, None, True, None),
        ("gs", {"AWS_ENDPOINT_URL": "http://a"}, None, True, None),
        ("gs", {"STORAGE_EMULATOR_HOST": "127.0.0.1:4443"}, "127.0.0.1:4443", False, "us-east-1"),
        ("gs", {"STORAGE_EMULATOR_HOST": "https://a"}, "a", True, "us-east-1"),
    ],
)
def test_the_environment_says_the_way(
    scheme: str, environ: dict[str, str], endpoint: str | None, encrypted: bool, region: str | None
) -> None:
    found = access(scheme, environ)
    assert (found.endpoint, found.encrypted, found.region) == (endpoint, encrypted, region)


@pytest.mark.parametrize(
    "address", ["ftp://a", "a:9000", "http://", "http://canary:canary@a", "http://a/canary", "http://a?canary"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="AWS_ENDPOINT_URL is no address of a server") as caught:
        access("s3", {"AWS_ENDPOINT_URL": address})
    assert "canary" not in str(caught.value)


def test_keys_count_only_as_a_pair_and_are_never_shown() -> None:
    both = {
        "AWS_ACCESS_KEY_ID": "AKIDCANARY",
        "AWS_SECRET_ACCESS_KEY": "secret-canary",
        "AWS_SESSION_TOKEN": "token-canary",
    }
    found = access("s3", both)
    assert (found.access_key, found.secret_key, found.session_token) == tuple(both.values())
    assert found.secrets == ("token-canary", "secret-canary", "AKIDCANARY")
    assert "canary" not in repr(found).lower()
    for lacking in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        half = access("s3", {name: value for name, value in both.items() if name != lacking})
        assert half.secrets == ()
    assert access("gs", both).secrets == ()
