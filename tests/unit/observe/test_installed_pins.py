"""Problems of a pin are found from its files alone."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.values.builders import changed, healthy_conda_facts

from fastinstall.model.guards import PinKind
from fastinstall.observe.installed_pins import PIN, observe_pins
from fastinstall.observe.pip_pins import constraints_text, insertion

REQUIREMENT = "pillow==13.0.0+simd.v2.v3"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return an environment with an intact pin."""
    pin = tmp_path / "share/fastinstall/pin"
    (pin / "wheels").mkdir(parents=True)
    wheel = pin / "wheels/pillow-13.0.0+simd.v2.v3-cp311-cp311-linux_x86_64.whl"
    wheel.touch()
    (pin / "constraints.txt").write_text(constraints_text(REQUIREMENT, wheel.name))
    (tmp_path / "pip.conf").write_text(insertion(b"", tmp_path, ("/opt/wheels",))[0])
    receipt = {"distribution": "pillow", "version": "13.0.0+simd.v2.v3"}
    (tmp_path / "share/fastinstall/receipt.json").write_text(json.dumps(receipt))
    return tmp_path


def test_a_pin_that_is_whole_has_no_problems(prefix: Path) -> None:
    (state,) = observe_pins(prefix)
    assert (state.kind, state.file, state.requirement) == (PinKind.PIP, prefix / "pip.conf", REQUIREMENT)
    assert state.problems == ()


def test_where_nothing_is_pinned_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("[install]\nconstraint = /srv/mine.txt\n")
    assert observe_pins(tmp_path) == ()


@pytest.mark.parametrize("said", ["/==13.0.0+simd.v2.v3", "../../x==1", "**==*", "pillow==\0", "[==]"])
def test_what_constraints_say_is_no_pattern(prefix: Path, said: str) -> None:
    (prefix / "share/fastinstall/pin/constraints.txt").write_text(f"{said}\n")
    (state,) = observe_pins(prefix)
    assert state.problems


def _another_receipt(prefix: Path) -> None:
    (prefix / "share/fastinstall/receipt.json").write_text('{"distribution": "pillow", "version": "14.0.0+simd.v3"}')


def _moved(prefix: Path) -> None:
    (prefix / "pip.conf").write_text(insertion(b"", Path("/srv/elsewhere"))[0])


def _altered(prefix: Path) -> None:
    file = prefix / "pip.conf"
    file.write_text(file.read_text().replace(f"constraint = {prefix}/share", "constraint = /srv"))


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (lambda prefix: next((prefix / "share/fastinstall/pin/wheels").iterdir()).unlink(), "the wheel of pillow=="),
        (lambda prefix: (prefix / "share/fastinstall/pin/constraints.txt").unlink(), "constraints.txt is missing"),
        (lambda prefix: (prefix / "pip.conf").unlink(), "no longer contains the pin"),
        (_moved, "the environment was moved or copied"),
        (_altered, "were altered"),
        (_another_receipt, "it pins pillow==13.0.0+simd.v2.v3, but pillow==14.0.0+simd.v3 was installed"),
    ],
)
def test_what_is_wrong_with_it_is_told(prefix: Path, harm: Callable[[Path], object], told: str) -> None:
    harm(prefix)
    (state,) = observe_pins(prefix)
    assert len(state.problems) == 1
    assert told in state.problems[0]


def test_condas_pin_is_told_as_it_is_spelt(tmp_path: Path) -> None:
    conda = changed(healthy_conda_facts(), {"conda": {"pins": ["numpy <2", PIN]}}).conda
    (state,) = observe_pins(tmp_path, conda)
    assert (state.kind, state.requirement) == (PinKind.CONDA, PIN)
