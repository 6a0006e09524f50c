"""The line of a pin: it is added to a file and removed to the byte; environments that cannot be pinned are refused."""

import shlex
from typing import Any

import pytest
import yaml
from support.suite.golden import Golden
from support.values.builders import changed, healthy_facts

from fastinstall.core.errors import RefusedError
from fastinstall.model.facts import Facts
from fastinstall.observe.installed_pins import (
    PIN,
    add_pin_line,
    environment_lines,
    pin_in,
    refuse_unpinnable,
    remove_pin_line,
)

STACK = {"name": "pillow", "version": "13.0.0", "build": "simd_v2v3_py311_0"}
STOCK = {"name": "pillow", "version": "13.0.0", "build": "py311h1234567_0"}


def _facts(packages: list[dict[str, Any]], pins: tuple[str, ...] = (), prefix: str = "/srv/conda/envs/fast") -> Facts:
    conda = {"packages": packages, "unreadable": {}, "pins": list(pins)}
    return changed(healthy_facts(), {"environment": {"kind": "conda", "prefix": prefix}, "conda": conda})


@pytest.mark.parametrize(
    "existing", ["", "numpy <2\n", "# of ours\n\nnumpy <2\n", "numpy <2\r\n", "numpy =1.26 # why\n"]
)
def test_a_pin_comes_and_goes_to_the_byte(existing: str) -> None:
    pinned = add_pin_line(existing)
    assert pinned == f"{existing}{PIN}\n"
    assert pin_in(pinned)
    assert not pin_in(existing)
    assert remove_pin_line(pinned) == existing


def test_a_line_without_its_end_is_not_joined_with_ours() -> None:
    assert add_pin_line("numpy <2") == f"numpy <2\n{PIN}\n"


def test_what_others_add_behind_it_stays() -> None:
    assert remove_pin_line(f"numpy <2\n{PIN}\nscipy <2\n") == "numpy <2\nscipy <2\n"


@pytest.mark.parametrize(
    "line", ["pillow <13", "pillow * py311*", "pillow", "pillow-perf * simd_*", f"# {PIN}", f"{PIN} x"]
)
def test_another_pin_is_not_taken_for_ours(line: str) -> None:
    assert pin_in(f"{line}\n") == ""
    assert remove_pin_line(f"{line}\n") == f"{line}\n"


def test_the_line_is_one_that_mamba_reads_too() -> None:
    assert PIN.split() == ["pillow", "*", "simd_*"]
    assert add_pin_line("") == f"{PIN}\n"


def test_where_the_stack_is_a_conda_package_it_can_be_pinned() -> None:
    refuse_unpinnable(_facts([STACK], ("numpy <2", PIN, "pillow-perf <1")))


@pytest.mark.parametrize(("packages", "there"), [([], "none"), ([STOCK], "13.0.0 py311h1234567_0")])
def test_what_the_pin_would_forbid_is_never_pinned(packages: list[dict[str, Any]], there: str) -> None:
    with pytest.raises(RefusedError, match=f"conda's pillow is {there}") as refusal:
        refuse_unpinnable(_facts(packages))
    assert refusal.value.hint == "fastinstall setup --pin --prefix /srv/conda/envs/fast"


def test_another_pin_of_pillow_prevents_ours() -> None:
    with pytest.raises(RefusedError, match=r"already pins pillow: 'conda-forge::pillow <13'"):
        refuse_unpinnable(_facts([STACK], ("numpy <2", "conda-forge::pillow <13")))


def test_in_a_virtual_environment_a_build_of_ours_can_be_pinned() -> None:
    refuse_unpinnable(changed(healthy_facts(), {"stack": {"owners": {"0": {"distribution": {"name": "pillow"}}}}}))


@pytest.mark.parametrize(
    ("distribution", "told"),
    [
        ({"version": "13.0.0"}, "PIL belongs to pillow 13.0.0"),
        ({"name": "pillow-simd", "version": "12.1.1.post0+simd.v3"}, "pillow-simd 12.1.1.post0"),
    ],
)
def test_in_a_virtual_environment_nothing_else_can(distribution: dict[str, str], told: str) -> None:
    facts = changed(healthy_facts(), {"stack": {"owners": {"0": {"distribution": distribution}}}})
    with pytest.raises(RefusedError, match=told) as refusal:
        refuse_unpinnable(facts)
    assert shlex.split(str(refusal.value.hint))[-5:] == [
        "--pin",
        "--dist-name",
        "pillow",
        "--prefix",
        "/srv/images/env",
    ]


def test_what_belongs_to_the_system_is_never_pinned(golden: Golden) -> None:
    with pytest.raises(RefusedError, match="virtual") as refusal:
        refuse_unpinnable(changed(healthy_facts(), {"environment": {"kind": "system"}}))
    golden(refusal.value)


def test_a_workspace_of_pixi_is_pinned_in_its_manifest() -> None:
    with pytest.raises(RefusedError, match="does not read conda-meta/pinned") as refusal:
        refuse_unpinnable(_facts([STACK], prefix="/home/me/project/.pixi/envs/default"))
    assert refusal.value.hint == "fastinstall guard pin --prefix /home/me/project/.pixi/envs/default"


def test_advice_is_what_the_files_take() -> None:
    channel = "file:///srv/channel"
    assert yaml.safe_load("\n".join(environment_lines(channel))) == {
        "channels": [channel, "conda-forge"],
        "dependencies": ["pillow=*=simd_*"],
    }
