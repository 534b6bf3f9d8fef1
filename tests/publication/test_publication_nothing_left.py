"""A push whose jobs left nothing: why, and what becomes of the failures that were there before it."""

from __future__ import annotations

from publication_scene import scene


def test_a_cancelled_run_is_said_to_be_that_and_nothing_is_guessed() -> None:
    with scene() as here:
        here.publish(here.run("softmax:wrong"))
        here.push()
        here.publish(here.run("softmax:wrong", but=[1], conclusion="cancelled"), expected=1)
        assert here.body.strip().splitlines()[0].endswith(": the only job left nothing: the CI run was cancelled.  ")
        assert (here.body.count("cancelled"), here.body.count("ended early")) == (2, 0)

        here.publish(here.run("softmax:wrong", but=[1], conclusion="cancelled"))
        assert here.body.strip().splitlines()[0].endswith(": the CI run was cancelled.  ")

        here.publish(here.run("softmax:wrong", but=[1], conclusion="failure"), expected=1)
        assert ("cancelled" in here.body, "its job ended early" in here.body) == (False, True)


def test_what_failed_before_a_run_that_left_nothing_is_not_forgotten() -> None:
    with scene() as here:
        here.publish(here.run("gelu:fail softmax:wrong"))
        first = here.head
        here.push()
        here.publish(here.run("gelu:fail", but=[1]))
        assert f"commit/{first}" in here.body
        assert "- 2 not judged this time: gelu (exception) and softmax (unknown)" in here.body.splitlines()

        here.push()
        here.publish(here.run("gelu:pass softmax:wrong"))
        assert f"commit/{first}" in here.body
        assert "- 1 fixed: gelu (exception)" in here.body.splitlines()


def test_nothing_is_unjudged_where_nothing_had_failed() -> None:
    with scene() as here:
        here.publish(here.run("gelu:fail"))
        here.push()
        here.publish(here.run("gelu:pass", conclusion="success"))
        here.push()
        here.publish(here.run("gelu:pass", but=[1]))
        assert "Since" not in here.body
