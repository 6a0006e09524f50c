from dataclasses import replace
from typing import Any

import pytest
from support.values.builders import PREFIX, changed, conda_facts, conda_package, request

from fastinstall.core.codec import encode
from fastinstall.core.errors import RefusedError
from fastinstall.model.facts import Facts
from fastinstall.model.request import Request
from fastinstall.setup.decide.conda_advice import choose_library_channels

OURS = f"file://{PREFIX}/share/fastinstall/channel"


def facts(*channels: str, configured: tuple[str, ...] = (), of_user: tuple[str, ...] = ()) -> Facts:
    packages = [encode(conda_package(f"a{number} 1 h_0", channel)) for number, channel in enumerate(channels)]
    changes: dict[str, Any] = {"conda": {"packages": packages, "channels": list(configured)}}
    return changed(conda_facts(), {**changes, "toolchain": {"channels": list(of_user)}})


def chosen(seen: Facts, asked: Request) -> tuple[str, ...]:
    assert seen.conda is not None
    return choose_library_channels(seen, seen.conda, asked)


def test_channels_follow_most_packages_then_the_configuration() -> None:
    mixed = facts("defaults", "conda-forge", "conda-forge", configured=("defaults",), of_user=("bioconda",))
    assert chosen(mixed, request()) == ("conda-forge", "defaults")
    assert chosen(facts("conda-forge", of_user=("bioconda",)), request()) == ("conda-forge", "bioconda")


def test_what_is_wished_for_stands_alone() -> None:
    asked = replace(request(), channels=("mirror",))
    assert chosen(facts("conda-forge", configured=("defaults",)), asked) == ("mirror",)


def test_the_channel_inside_the_environment_has_no_libraries() -> None:
    assert chosen(facts(OURS, OURS, "conda-forge", configured=(OURS,)), request()) == ("conda-forge",)


def test_without_any_channel_one_has_to_be_named() -> None:
    with pytest.raises(RefusedError) as caught:
        chosen(facts(OURS, ""), request())
    assert "--channel conda-forge" in (caught.value.hint or "")
