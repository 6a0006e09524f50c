"""A pin for pip: the lines that it adds to files; they can be removed to the byte."""

from pathlib import PurePosixPath

import pytest
from packaging.requirements import Requirement
from support.suite.golden import Golden

from fastinstall.core.errors import RefusedError
from fastinstall.observe.pip_pins import (
    block_in,
    constraint_in,
    constraints_text,
    environment_text,
    insertion,
    location,
    parse_pip_config,
    read_pinned_settings,
    remove_pin_block,
    settings,
)

PREFIX = PurePosixPath("/srv/images/env")
OTHERS = [
    pytest.param(b"", id="none"),
    pytest.param(b"# of mine\n[global]\ntimeout = 30\n", id="another section"),
    pytest.param(b"[global]\ntimeout = 30", id="no end of line"),
    pytest.param(b"[install]\n# why\nno-compile = true\n[global]\ntimeout = 30\n", id="the section"),
    pytest.param(b"[global]\ntimeout = 30\n[install]", id="an empty section without an end of line"),
    pytest.param(b"[install] ; of mine\r\nno-compile = true\r\n", id="other ends of lines"),
    pytest.param(b"# \xff\n[install]\n\n\nno-compile:true\n", id="no text"),
]


def _inserted(content: bytes) -> bytes:
    text, place = insertion(content, PREFIX, ("/opt/wheels",))
    return content[:place] + text.encode() + content[place:]


@pytest.mark.parametrize("content", OTHERS)
def test_lines_come_and_go_to_the_byte(content: bytes) -> None:
    pinned = _inserted(content)
    assert remove_pin_block(pinned) == content
    assert remove_pin_block(content) == content
    assert block_in(content) == ()


@pytest.mark.parametrize("content", OTHERS)
def test_pip_reads_them_beside_what_was_there(content: bytes) -> None:
    before, after = parse_pip_config(content, PREFIX), parse_pip_config(_inserted(content), PREFIX)
    ours = {key: after["install"].pop(key) for key in ("find-links", "constraint")}
    assert ours == settings(PREFIX, ("/opt/wheels",)) == read_pinned_settings(_inserted(content))
    assert after == {"install": {}, **before}


def test_an_indented_setting_that_would_join_ours_prevents_a_pin(golden: Golden) -> None:
    with pytest.raises(RefusedError, match="other lines") as refusal:
        insertion(b"[install]\n  no-compile = true\n", PREFIX)
    golden(refusal.value)


@pytest.mark.parametrize("content", [b"timeout = 30\n", b"[install]\nfind-links = /opt\nfind-links = /srv\n"])
def test_what_pip_cannot_read_is_refused(content: bytes) -> None:
    with pytest.raises(RefusedError, match="pip cannot read it"):
        insertion(content, PREFIX)


def test_a_setting_of_the_same_name_is_never_doubled() -> None:
    with pytest.raises(RefusedError, match="already exists"):
        insertion(b"[install]\nconstraint = /srv/mine.txt\n", PREFIX)


def test_what_was_written_below_our_header_keeps_one() -> None:
    pinned = _inserted(b"") + b"\n# of mine\ntimeout = 30\n"
    assert remove_pin_block(pinned) == b"[install]\n\n# of mine\ntimeout = 30\n"
    assert (
        remove_pin_block(_inserted(b"\n" * 1000 + b"[global]\ntimeout = 30\n"))
        == b"\n" * 1000 + b"[global]\ntimeout = 30\n"
    )


def test_half_a_block_is_let_be() -> None:
    half = _inserted(b"").partition(b"# <<<")[0]
    assert remove_pin_block(half) == half
    assert read_pinned_settings(half) == {}


def test_a_path_with_a_blank_is_a_url_as_lists_end_at_blanks() -> None:
    assert location(PREFIX) == "/srv/images/env"
    assert location(PurePosixPath("/srv/my envs/ä,b")) == "file:///srv/my%20envs/%C3%A4%2Cb"


def test_a_constraint_holds_to_one_build() -> None:
    text = constraints_text("pillow==13.0.0+simd.v3", "pillow-13.0.0+simd.v3-py3-none-any.whl")
    assert text.splitlines()[-1] == constraint_in(text) == "pillow==13.0.0+simd.v3"


def test_a_constraint_holds_only_where_the_wheel_runs() -> None:
    text = constraints_text("pillow==13.0.0+simd.v3", "pillow-13.0.0+simd.v3-cp311-cp311-manylinux_2_27_x86_64.whl")
    requirement = Requirement(text.splitlines()[-1])
    assert str(requirement.specifier) == "==13.0.0+simd.v3"
    assert constraint_in(text) == "pillow==13.0.0+simd.v3"
    here = {
        "python_full_version": "3.11.7",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
    }
    assert requirement.marker is not None
    assert requirement.marker.evaluate(here)
    for name, other in (("python_full_version", "3.12.1"), ("sys_platform", "darwin"), ("platform_machine", "arm64")):
        assert not requirement.marker.evaluate({**here, name: other})


def test_exports_come_behind_what_is_exported() -> None:
    text = environment_text(PREFIX, ("/opt/wheels",))
    names = ("UV_CONSTRAINT", "UV_FIND_LINKS", "PIP_CONSTRAINT", "PIP_FIND_LINKS")
    assert all(f"export {name}\n" in text for name in names)
    assert '="${UV_FIND_LINKS:+$UV_FIND_LINKS,}/srv/images/env/share/fastinstall/pin/wheels"' in text
    assert "PIP_FIND_LINKS=${PIP_FIND_LINKS:-/opt/wheels}\n" in text
