"""Whose the files of conda packages should be, and whether our channel is registered."""

from pathlib import PurePosixPath

import pytest

from fastinstall.conda.reinstall import find_rightful_owner, has_channel
from fastinstall.model.conda import Conda, CondaClash, CondaPackage, CondaStack

TURBO = CondaPackage(name="libjpeg-turbo", version="3.1.0", build="hb9d3cd8_0")
IJG = CondaPackage(name="jpeg", version="9e", build="h166bdaf_2")
TIFF = CondaPackage(name="libtiff", version="4.7.0", build="hd9ff511_3")
ZEGAMI = CondaPackage(name="libtiff-libjpeg-turbo", version="4.0.9", build="1")
PILLOW = CondaPackage(name="pillow", version="12.1.1", build="py311_0")
GUARD = CondaPackage(name="fastinstall-guard", version="1", build="0")


@pytest.mark.parametrize(
    ("holder", "claimants", "owner"),
    [
        (IJG.dist, (IJG.dist, TURBO.dist), TURBO.dist),
        ("", (IJG.dist, TURBO.dist), TURBO.dist),
        (TIFF.dist, (PILLOW.dist, TIFF.dist), TIFF.dist),
        ("", (PILLOW.dist, TIFF.dist), PILLOW.dist),
        (ZEGAMI.dist, (ZEGAMI.dist, TIFF.dist), TIFF.dist),
        ("pip: pillow 13.0.0", (PILLOW.dist, "pip: pillow 13.0.0"), PILLOW.dist),
    ],
)
def test_a_file_belongs_to_libjpeg_turbo_or_to_whoever_has_it(
    holder: str, claimants: tuple[str, ...], owner: str
) -> None:
    assert find_rightful_owner(CondaClash(path="lib/libx.so", claimants=claimants, holder=holder)) == owner


@pytest.mark.parametrize(
    ("channel", "found"),
    [
        ("file:///srv/my%20images/share/fastinstall/channel", True),
        ("/srv/my images/share/fastinstall/channel/", True),
        ("file:///srv/other/share/fastinstall/channel", False),
        ("conda-forge", False),
    ],
)
def test_a_channel_is_found_as_a_path_and_as_a_url(channel: str, *, found: bool) -> None:
    stack = CondaStack(package=PILLOW, guard=GUARD, channel=PurePosixPath("/srv/my images/share/fastinstall/channel"))
    assert has_channel(Conda(packages=(), unreadable={}, channels=(channel,)), stack, stack.channel.parents[2]) is found
