"""What a refusal for a risk that nobody allowed tells to do."""

from dataclasses import replace

import pytest
from builders import environment

from fastinstall.cli.consent import refuse_unaccepted
from fastinstall.core.errors import ExitCode, RefusedError
from fastinstall.model.request import PlanRisk, Request, Risk
from fastinstall.plan.plan import Plan

VULNERABLE = PlanRisk(
    risk=Risk.VULNERABLE,
    summary="1 critical advisory affects Pillow 12.1.1: CVE-1",
    items=("CVE-1",),
    instead="take today's Pillow: --recipe pillow-merged",
)
DOWNGRADE = PlanRisk(risk=Risk.DOWNGRADE, summary="it is older")


def _plan(*hazards: PlanRisk) -> Plan:
    wish = Request(recipe="pillow-simd")
    return Plan(environment=environment(), facts_digest="0", wish=wish, steps=(), hazards=hazards, summary="a test")


def _refusal(plan: Plan) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        refuse_unaccepted(plan)
    return caught.value


def test_a_known_vulnerability_is_refused_by_name_and_what_avoids_it_comes_first() -> None:
    refused = _refusal(_plan(VULNERABLE, DOWNGRADE))
    assert refused.exit_code is ExitCode.REFUSED
    assert "CVE-1" in refused.message
    assert refused.hint == (
        "take today's Pillow: --recipe pillow-merged; or accept it by name: --allow vulnerable,downgrade"
    )


def test_another_risk_has_no_other_way_out() -> None:
    assert _refusal(_plan(DOWNGRADE)).hint == "accept it by name: --allow downgrade"


def test_what_is_allowed_is_not_refused() -> None:
    refuse_unaccepted(_plan(replace(VULNERABLE, allowed=True)))
