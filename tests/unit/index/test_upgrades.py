"""Which upgrade is advised: never a version that an installed distribution forbids."""

import pytest
from support.values.builders import advisory, healthy_facts

from fastinstall.index.upgrades import UpgradeForecast, advise_instead_of_risk, forecast_upgrade, requirement
from fastinstall.model.facts import Dependant

GRADIO = Dependant(name="gradio", requirement="pillow<13.0,>=8.0", version="5.49.1")
EXACT = Dependant(name="viewer", requirement="pillow (==12.3.*)")
ANY = Dependant(name="torchvision", requirement="pillow!=8.3.*,>=5.3.0")
FIXED = (advisory("A", "<12.2.0"), advisory("B", ">=5,<13.0.0"), advisory("C", "<=12.1.1", kernels_only=True))


@pytest.mark.parametrize(
    ("dependants", "wanted"),
    [
        ((), "pillow"),
        ((Dependant(name="imageio", requirement="pillow>=8.3.2"),), "pillow"),
        ((GRADIO,), "pillow<13.0"),
        ((ANY, GRADIO, EXACT), "pillow!=8.3.*,<13.0,==12.3.*"),
        ((Dependant(name="strange", requirement="pillow what?"),), "pillow"),
    ],
)
def test_an_installer_is_asked_for_what_every_dependant_takes(dependants: tuple[Dependant, ...], wanted: str) -> None:
    assert requirement("pillow", dependants) == wanted


@pytest.mark.parametrize(
    ("version", "dependants", "fixed", "allowed"),
    [
        ("12.1.1", (), "13.0.0", "13.0.0"),
        ("12.1.1", (GRADIO,), "13.0.0", "12.2.0"),
        ("12.3.0", (GRADIO,), "13.0.0", ""),
        ("13.0.0", (GRADIO,), "", ""),
    ],
)
def test_the_fixes_are_those_that_the_distributions_take(
    version: str, dependants: tuple[Dependant, ...], fixed: str, allowed: str
) -> None:
    concerned = tuple(each for each in FIXED if version != "13.0.0" and (version < "12.2" or each.id == "B"))
    view = forecast_upgrade(concerned, version, healthy_facts().interpreter, dependants)
    assert (view.fixed, view.allowed) == (fixed, allowed)
    assert view.is_held is bool(fixed and not allowed)
    assert bool(view.keepers) is (bool(dependants) and bool(fixed))


@pytest.mark.parametrize(
    ("view", "told"),
    [
        (UpgradeForecast(), ""),
        (UpgradeForecast(fixed="13.0.0", allowed="13.0.0"), "take today's Pillow: --recipe pillow-fast"),
        (
            UpgradeForecast(fixed="13.0.0", python="3.11"),
            "Python 3.11 gets Pillow 13.0.0: fastinstall setup --new-env ./fast-env --python python3.11",
        ),
    ],
)
def test_what_is_proposed_instead_of_a_risk_can_be_done_here(view: UpgradeForecast, told: str) -> None:
    assert advise_instead_of_risk(view, "pillow-simd", "pillow-fast") == told
