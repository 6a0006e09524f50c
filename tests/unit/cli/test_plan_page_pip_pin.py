"""A pin for pip in a plan: which files it writes, and what it costs."""

from pathlib import PurePosixPath

from support.values.builders import changed, environment, request

from fastinstall.cli.console import Page
from fastinstall.cli.text.plan_page import plan_text
from fastinstall.observe.pip_pins import insertion
from fastinstall.setup.plan import Plan
from fastinstall.setup.steps.pin import PinForPip


def test_pin_lines_are_shown_as_holding_back_security_updates() -> None:
    text = insertion(b"", PurePosixPath("/srv/images/env"))[0]
    step = PinForPip(
        file="pip.conf",
        directory="share/fastinstall/pin",
        requirement="pillow==13.0.0+simd.v2.v3",
        text=text,
        reason="--pin: the pin holds back every other Pillow, including security updates",
    )
    plan = Plan(
        environment=environment(),
        facts_digest="",
        request=changed(request(), {"pin": True}),
        pin=step,
        summary="pin it",
    )
    assert "including security updates" in plan_text(plan, Page())
    told = plan_text(plan, Page(verbose=True))
    (first,) = [line for line in told.splitlines() if line.strip().startswith("1. ")]
    assert all(part in first for part in (step.file, step.directory, step.requirement))
    assert all(f"     {line}\n" in told for line in text.splitlines())
    assert "including security updates" in told
