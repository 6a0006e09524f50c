"""Which conda packages are reinstalled, and in which order, so that they own PIL's libraries again."""

from pathlib import PurePosixPath

import pytest

from fastinstall.conda.reinstall import find_rightful_owner, has_channel, list_packages_to_reinstall
from fastinstall.model.conda import Conda, CondaClaim, CondaClash, CondaPackage, CondaStack

TURBO = CondaPackage(name="libjpeg-turbo", version="3.1.0", build="hb9d3cd8_0")
IJG = CondaPackage(name="jpeg", version="9e", build="h166bdaf_2")
TIFF = CondaPackage(name="libtiff", version="4.7.0", build="hd9ff511_3")
ZEGAMI = CondaPackage(name="libtiff-libjpeg-turbo", version="4.0.9", build="1")
PILLOW = CondaPackage(name="pillow", version="12.1.1", build="py311_0")
GUARD = CondaPackage(name="fastinstall-guard", version="1", build="0")
SHARED = ("include/jpeglib.h", "lib/libjpeg.so")


def conda(*packages: CondaPackage, claims: tuple[CondaClaim, ...] = (), clashes: tuple[CondaClash, ...] = ()) -> Conda:
    return Conda(packages=packages, unreadable={}, claims=claims, clashes=clashes)


def clashes(holder: CondaPackage, *claimants: CondaPackage, paths: tuple[str, ...] = SHARED) -> tuple[CondaClash, ...]:
    dists = tuple(package.dist for package in claimants)
    return tuple(CondaClash(path=path, claimants=dists, holder=holder.dist) for path in paths)


def claim(
    package: CondaPackage, *files: str, missing: tuple[str, ...] = (), altered: tuple[str, ...] = ()
) -> CondaClaim:
    return CondaClaim(dist=package.dist, files=(*files, *missing, *altered), missing=missing, altered=altered)


def test_nothing_is_reinstalled_if_every_file_is_as_installed() -> None:
    assert list_packages_to_reinstall(conda(TURBO, TIFF, claims=(claim(TURBO, *SHARED), claim(TIFF)))) == ()


def test_headers_that_jpeg_took_come_back_to_libjpeg_turbo_alone() -> None:
    claims = (claim(IJG, *SHARED), claim(TURBO, altered=SHARED))
    state = conda(IJG, TURBO, claims=claims, clashes=clashes(IJG, IJG, TURBO))
    assert list_packages_to_reinstall(state) == (TURBO,)


def test_they_stay_where_they_are_once_they_are_back() -> None:
    claims = (claim(IJG, altered=SHARED), claim(TURBO, *SHARED))
    state = conda(IJG, TURBO, claims=claims, clashes=clashes(TURBO, IJG, TURBO))
    assert list_packages_to_reinstall(state) == ()


def test_unaltered_files_an_engine_set_aside_are_reinstalled() -> None:
    claims = (claim(IJG, *SHARED), claim(TURBO, *(f"__clobbers__/libjpeg-turbo/{path}" for path in SHARED)))
    state = conda(IJG, TURBO, claims=claims, clashes=clashes(IJG, IJG, TURBO))
    assert list_packages_to_reinstall(state) == (TURBO,)


def test_libjpeg_turbo_comes_last() -> None:
    claims = (claim(TURBO, missing=("lib/libjpeg.so",)), claim(TIFF, altered=("lib/libtiff.so.6",)))
    assert list_packages_to_reinstall(conda(TURBO, TIFF, claims=claims)) == (TIFF, TURBO)


def test_it_follows_jpeg_even_where_it_lost_nothing_itself() -> None:
    claims = (claim(IJG, missing=("lib/libjpeg.so.9",)), claim(TURBO, *SHARED))
    state = conda(IJG, TURBO, claims=claims, clashes=clashes(TURBO, IJG, TURBO))
    assert list_packages_to_reinstall(state) == (IJG, TURBO)


def test_files_lost_by_removing_another_package_come_back() -> None:
    assert list_packages_to_reinstall(conda(TURBO, claims=(claim(TURBO, missing=SHARED),))) == (TURBO,)


def test_a_libtiff_regains_its_place_from_one_no_solver_knows() -> None:
    paths = ("lib/libtiff.so",)
    state = conda(
        TIFF,
        ZEGAMI,
        claims=(claim(TIFF, altered=paths), claim(ZEGAMI, *paths, missing=("lib/libtiffxx.so",))),
        clashes=clashes(ZEGAMI, TIFF, ZEGAMI, paths=paths),
    )
    assert list_packages_to_reinstall(state) == (TIFF,)


@pytest.mark.parametrize(
    ("package", "path"),
    [(PILLOW, "lib/python3.11/site-packages/PIL/_imaging.so"), (GUARD, "etc/conda/activate.d/fastinstall-guard.sh")],
)
def test_pillow_and_our_guard_are_left_to_the_setup(package: CondaPackage, path: str) -> None:
    assert list_packages_to_reinstall(conda(package, claims=(claim(package, missing=(path,)),))) == ()


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
