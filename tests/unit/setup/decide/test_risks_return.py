"""Plans and refusals if a repair would replace a Pillow that was requested, or that another package requires."""

from dataclasses import replace

import pytest
from support.suite.golden import Golden
from support.values.builders import advisory, environment, receipt, recipe, request

from fastinstall.doctor.intent import InstallRequest, Intent, VersionOrder
from fastinstall.model.advisories import Severity
from fastinstall.model.request import PlanRisk, Risk
from fastinstall.setup.decide.risks import add_version_warning, make_repair_refusal, make_return_plan
from fastinstall.setup.plan import Plan

LATER = Intent(name="pillow", version="14.0.0", tool="pip", asked=InstallRequest.BY_NAME, order=VersionOrder.LATER)
EARLIER = replace(LATER, version="11.3.0", order=VersionOrder.EARLIER)
KNOWN = PlanRisk(
    risk=Risk.DOWNGRADE, summary="12.1.1 is older, and 1 known advisory comes back", items=("A",), allowed=True
)
ACCEPT = "fastinstall guard accept --prefix /srv/images/env"
BACK = "fastinstall doctor --fix --allow downgrade --prefix /srv/images/env"


def _plan() -> Plan:
    asked = replace(request(), allow=(Risk.VULNERABLE, Risk.DOWNGRADE))
    return Plan(environment=environment(), facts_digest="", request=asked, risks=(KNOWN,), summary="restore")


def test_undoing_a_requested_version_is_a_risk_with_two_ways_out(golden: Golden) -> None:
    made = make_return_plan(_plan(), LATER, ("the index has none",), allowed=())
    (plan_risk,) = made.risks
    assert (plan_risk.risk, plan_risk.allowed) == (Risk.DOWNGRADE, False)
    assert KNOWN.summary in plan_risk.summary
    assert [item.rpartition(": ")[2] for item in plan_risk.items] == [ACCEPT, BACK, "the index has none", "A"]
    golden("\n".join((plan_risk.summary, *plan_risk.items)))
    assert made.request.allow == (Risk.VULNERABLE,), "what was allowed for another setup is asked again"


def test_it_is_taken_where_it_is_allowed_by_name_in_this_run() -> None:
    made = make_return_plan(_plan(), LATER, (), allowed=(Risk.DOWNGRADE,))
    assert made.risks[0].allowed
    assert made.request.allow == (Risk.VULNERABLE, Risk.DOWNGRADE)


def test_if_ours_breaks_a_requirement_only_accepting_is_offered() -> None:
    required = replace(LATER, asked=InstallRequest.ALONG, unmet=("imageio requires pillow>=14",))
    error = make_repair_refusal(required, ("the index has none",), environment().prefix)
    assert required.unmet[0] in error.message
    assert (error.hint or "").endswith(f": {ACCEPT}")


def test_a_requested_earlier_version_is_named_with_its_command() -> None:
    (warning,) = add_version_warning(_plan(), EARLIER, receipt(), recipe()).warnings
    assert EARLIER.version in warning
    assert "12.1.1+simd.v3 is restored" in warning
    assert warning.endswith(": fastinstall setup --version 11.3.0 --allow downgrade --prefix /srv/images/env")


def test_the_way_to_a_vulnerable_version_names_that_risk_too() -> None:
    bad = replace(recipe(), advisories=(advisory("CVE-1", "<12", Severity.CRITICAL),))
    (warning,) = add_version_warning(_plan(), EARLIER, receipt(), bad).warnings
    assert "--allow downgrade,vulnerable" in warning


@pytest.mark.parametrize(
    "intent",
    [None, replace(EARLIER, asked=InstallRequest.ALONG), replace(LATER, order=VersionOrder.SAME, version="12.1.1")],
)
def test_what_nobody_asked_for_is_not_mentioned(intent: Intent | None) -> None:
    assert add_version_warning(_plan(), intent, receipt(), recipe()) == _plan()


def test_a_version_that_a_dependant_forbids_gets_no_command() -> None:
    forbidden = replace(EARLIER, broken=("gradio 5.49.1 requires pillow>=12",))
    (warning,) = add_version_warning(_plan(), forbidden, receipt(), recipe()).warnings
    assert warning.endswith(f"12.1.1+simd.v3 is restored, because {forbidden.broken[0]}")
    assert "setup --version" not in warning
