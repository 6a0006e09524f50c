"""What `inspect --redact` removes, and what it keeps."""

from pathlib import PurePosixPath
from typing import Any

from support.values.builders import changed, healthy_facts

from fastinstall.cli.commands.inspect import redact
from fastinstall.core.codec import dump, encode
from fastinstall.model.facts import Facts

HOME = PurePosixPath("/home/alice")


def _redacted(changes: dict[str, Any]) -> Facts:
    return redact(changed(healthy_facts(), changes), home=HOME, user="alice")


def test_the_home_directory_becomes_a_tilde() -> None:
    facts = _redacted({"environment": {"prefix": "/home/alice/env"}, "active": {"VIRTUAL_ENV": "/home/alice/env"}})
    assert str(facts.environment.prefix) == "~/env"
    assert str(facts.active["VIRTUAL_ENV"]) == "~/env"


def test_a_home_elsewhere_and_the_user_name_in_a_path_go_too() -> None:
    moved = changed(healthy_facts(), {"tool_prefix": "/data/alice/tool", "runtime": {"error": "in /mnt/a/x.py"}})
    facts = redact(moved, home=PurePosixPath("/mnt/a"), user="alice")
    assert str(facts.tool_prefix) == "/data/USER/tool"
    assert facts.runtime is not None
    assert facts.runtime.error == "in ~/x.py"


def test_homes_of_others_go_too() -> None:
    assert str(_redacted({"tool_prefix": "/home/bob/.local/tool"}).tool_prefix) == "~/.local/tool"


def test_credentials_in_urls_go() -> None:
    facts = _redacted({"runtime": {"error": "from https://me:secret@example.org/simple"}})
    assert facts.runtime is not None
    assert facts.runtime.error == "from https://***@example.org/simple"


def test_nothing_of_the_user_is_left_anywhere() -> None:
    facts = changed(healthy_facts(), {"interpreter": {"cflags": "-I/home/alice/include"}, "tool_prefix": "/home/alice"})
    assert "alice" not in dump(encode(redact(facts, home=HOME, user="alice")))


def test_what_tells_nothing_stays_as_it_is() -> None:
    assert redact(healthy_facts(), home=PurePosixPath("/root"), user="root") == healthy_facts()


def test_a_name_that_only_begins_alike_stays() -> None:
    facts = _redacted({"tool_prefix": "/srv/alicent/home"})
    assert str(facts.tool_prefix) == "/srv/alicent/home"


def test_the_host_name_is_redacted_but_not_longer_words_like_it() -> None:
    moved = changed(healthy_facts(), {"tool_prefix": "/nfs/wren/tool", "runtime": {"error": "on wren-2, wrench"}})
    facts = redact(moved, home=HOME, user="alice", host="wren")
    assert str(facts.tool_prefix) == "/nfs/HOST/tool"
    assert facts.runtime is not None
    assert facts.runtime.error == "on HOST-2, wrench"


def test_values_that_are_known_go_wherever_they_stand() -> None:
    moved = changed(healthy_facts(), {"runtime": {"error": "said hunter22"}})
    facts = redact(moved, home=HOME, user="alice", known=("hunter22",))
    assert facts.runtime is not None
    assert facts.runtime.error == "said ***"
