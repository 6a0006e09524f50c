"""`guard status` as text: the guard's parts, their problems, and what the guard has reported."""

from pathlib import PurePath

from support.suite.golden import Golden

from fastinstall.cli.commands.guard import guards_text
from fastinstall.cli.console import Page
from fastinstall.guard.status import Guards
from fastinstall.model.guards import GuardEvent, PinKind, PinState

PIN = PinState(kind=PinKind.PIP, file=PurePath("/env/pip.conf"), requirement="pillow==13.0.0+simd.v2.v3")


def test_an_environment_without_guards_says_so() -> None:
    assert guards_text(Guards(installed=False), Page()) == "start-up guard: not installed"


def test_a_guard_is_told_with_its_origin(golden: Golden) -> None:
    guards = Guards(
        installed=True,
        version="2",
        installed_by="fastinstall 0.6.0",
        installed_at="2026-11-21T22:00:00Z",
    )
    golden(guards_text(guards, Page()))


def test_pins_say_what_they_hold_back_and_their_problems_last() -> None:
    pin = PinState(kind=PIN.kind, file=PIN.file, requirement=PIN.requirement, problems=("the wheel is gone",))
    guards = Guards(installed=True, version="2", problems=("state is missing",), pins=(pin,))
    told = guards_text(guards, Page()).splitlines()
    assert told[1].startswith(f"pinned in /env/pip.conf: {PIN.requirement} (")
    assert "security updates" in told[1]
    assert told[-2:] == ["problem: state is missing", "problem: the wheel is gone"]


def test_a_pin_for_pip_says_what_uv_needs_to_obey_it() -> None:
    told = guards_text(Guards(installed=True, version="2", pins=(PIN,)), Page()).splitlines()
    assert told[-1].startswith("uv ")
    assert told[-1].endswith(". /env/share/fastinstall/pin/environment.sh")
    of_conda = PinState(kind=PinKind.CONDA, file=PurePath("/env/conda-meta/pinned"), requirement="pillow * simd_*")
    assert "uv" not in guards_text(Guards(installed=True, version="2", pins=(of_conda,)), Page())


def test_what_was_told_names_time_stack_change_and_tool(golden: Golden) -> None:
    event = GuardEvent(
        at="2026-11-21T10:40:00Z", change="was replaced with Pillow 13.1.0", tool="uv", stack="13.0.0", found="13.1.0"
    )
    gone = GuardEvent(at="2026-11-20T10:40:00Z", change="was removed", stack="13.0.0")
    golden(guards_text(Guards(installed=True, version="2", events=(event, gone)), Page()))


def test_guards_are_whole_without_own_problems_or_broken_pins() -> None:
    broken = PinState(kind=PIN.kind, file=PIN.file, requirement=PIN.requirement, problems=("the wheel is gone",))
    assert Guards(installed=True, pins=(PIN,)).is_whole
    assert not Guards(installed=True, problems=("outdated",)).is_whole
    assert not Guards(installed=True, pins=(PIN, broken)).is_whole
