from dataclasses import replace

import pytest
from packaging.tags import Tag
from support.values.builders import changed, healthy_facts, recipe

from fastinstall.index.selection import is_installable, list_supported_tags, make_choice, parse_filename, select
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Interpreter
from fastinstall.model.recipe import Recipe

INTERPRETER = healthy_facts().interpreter


def artefact(filename: str, url: str = "https://index.example/") -> Artefact:
    parsed = parse_filename(filename)
    assert parsed is not None
    return Artefact(name=parsed.name, version=str(parsed.version), filename=filename, url=url + filename, sha256="")


LINKING = changed(
    recipe(),
    {
        "source": {"pypi": "pillow"},
        "libraries": {
            "zlib": {
                "header": "zlib.h",
                "link": "z",
                "static": {
                    "pypi": "zlib-ng",
                    "versions": "<2",
                    "directory": "zlib-ng",
                    "configure": [],
                    "archive": "libz.a",
                    "headers": ["."],
                    "reason": "a test",
                },
            }
        },
    },
)


def selected(*filenames: str, interpreter: Interpreter = INTERPRETER, used: Recipe | None = None) -> Releases:
    offered = [artefact(filename) for filename in filenames]
    return select(offered, used or recipe(), list_supported_tags(interpreter), origin="a test")


def names(artefacts: tuple[Artefact, ...]) -> list[str]:
    return [each.filename for each in artefacts]


def test_sources_are_newest_first_by_version_and_not_by_text() -> None:
    releases = selected(
        "Pillow-SIMD-9.5.0.post2.tar.gz", "pillow_simd-12.1.1.post0.tar.gz", "pillow_simd-10.0.1.post0.tar.gz"
    )

    assert names(releases.sources) == [
        "pillow_simd-12.1.1.post0.tar.gz",
        "pillow_simd-10.0.1.post0.tar.gz",
        "Pillow-SIMD-9.5.0.post2.tar.gz",
    ]


def test_prereleases_are_left_out() -> None:
    wheel = "pillow-13.0.0rc1-cp311-cp311-manylinux_2_28_x86_64.whl"

    assert selected("pillow_simd-12.1.1.dev1.tar.gz", wheel) == selected()


@pytest.mark.parametrize(
    "tag",
    [
        "cp311-cp311-manylinux_2_37_x86_64",
        "cp312-cp312-manylinux_2_28_x86_64",
        "cp311-cp311-manylinux_2_28_aarch64",
        "cp311-cp311-musllinux_1_2_x86_64",
        "cp311-cp311-win_amd64",
        "cp311-cp311t-manylinux_2_28_x86_64",
        "cp311-cp311-linux_x86_64",
    ],
)
def test_a_wheel_for_another_target_is_not_an_official_wheel(tag: str) -> None:
    assert selected(f"pillow-12.1.1-{tag}.whl").wheels == ()


@pytest.mark.parametrize(
    "tag",
    [
        "manylinux_2_36_x86_64",
        "manylinux_2_5_x86_64",
        "manylinux2014_x86_64",
        "manylinux_2_27_x86_64.manylinux_2_28_x86_64",
    ],
)
def test_wheels_up_to_the_targets_glibc_fit(tag: str) -> None:
    wheel = f"pillow-12.1.1-cp311-cp311-{tag}.whl"

    assert names(selected(wheel).wheels) == [wheel]


def test_each_version_offers_its_best_wheel_newest_version_first() -> None:
    old = "pillow-11.3.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
    best = "pillow-12.1.1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
    lesser = "pillow-12.1.1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"

    assert names(selected(old, lesser, best).wheels) == [best, old]


def test_a_musl_target_takes_musl_wheels() -> None:
    musl = replace(INTERPRETER, libc="musl", libc_version="1.2")
    wheel = "pillow-12.1.1-cp311-cp311-musllinux_1_2_x86_64.whl"

    releases = selected(wheel, "pillow-12.1.1-cp311-cp311-manylinux_2_28_x86_64.whl", interpreter=musl)

    assert names(releases.wheels) == [wheel]


def test_a_free_threaded_target_takes_wheels_of_its_own_abi() -> None:
    free = replace(INTERPRETER, version="3.13.0", abi="cp313t", free_threaded=True)
    wheel = "pillow-12.1.1-cp313-cp313t-manylinux_2_28_x86_64.whl"

    releases = selected(wheel, "pillow-12.1.1-cp313-cp313-manylinux_2_28_x86_64.whl", interpreter=free)

    assert names(releases.wheels) == [wheel]


@pytest.mark.parametrize("libc_version", ["", "unknown", "3.0"])
def test_a_libc_of_unknown_version_takes_no_portable_wheel(libc_version: str) -> None:
    unknown = replace(INTERPRETER, libc_version=libc_version)

    assert selected("pillow-12.1.1-cp311-cp311-manylinux_2_28_x86_64.whl", interpreter=unknown).wheels == ()


def test_another_implementation_has_no_tags_of_cpythons() -> None:
    assert list_supported_tags(replace(INTERPRETER, implementation="pypy")) == {}


def test_the_targets_own_abi_is_preferred_to_the_stable_one() -> None:
    tags = list_supported_tags(INTERPRETER)

    own = tags[Tag("cp311", "cp311", "manylinux_2_28_x86_64")]
    assert own < tags[Tag("cp311", "abi3", "manylinux_2_28_x86_64")]


def test_our_labelled_wheels_are_never_taken_for_official_ones() -> None:
    ours = "pillow-12.1.1+simd.v3-cp311-cp311-manylinux_2_27_x86_64.whl"
    by_its_own_name = "pillow_simd-12.1.1.post0+simd.v3-cp311-cp311-linux_x86_64.whl"
    foreign = "pillow-12.1.1+company1-cp311-cp311-manylinux_2_27_x86_64.whl"
    misfit = "pillow-12.1.1+simd.v3-cp312-cp312-manylinux_2_27_x86_64.whl"

    releases = selected(ours, by_its_own_name, foreign, misfit)

    assert names(releases.prebuilt) == [by_its_own_name, ours]
    assert releases.wheels == ()


def test_of_two_files_with_one_name_the_first_place_wins() -> None:
    name = "pillow_simd-12.1.1.post0.tar.gz"
    offered = [artefact(name, "file:///wheelhouse/"), artefact(name)]

    releases = select(offered, recipe(), list_supported_tags(INTERPRETER), origin="a test")

    assert [each.url for each in releases.sources] == [f"file:///wheelhouse/{name}"]


@pytest.mark.parametrize("filename", ["SHA256SUMS", "pillow.whl", "pillow-12.1.1.tar.bz2", "pillow-x.y.tar.gz", ""])
def test_other_files_are_not_taken_for_distributions(filename: str) -> None:
    assert parse_filename(filename) is None


def test_a_file_fits_by_name_and_tags() -> None:
    wanted = make_choice((recipe(),), INTERPRETER).is_wanted

    assert wanted("Pillow-SIMD-9.5.0.post2.tar.gz")
    assert wanted("pillow-12.1.1-cp311-cp311-linux_x86_64.whl")
    assert not wanted("numpy-2.0.0.tar.gz")
    assert not wanted("pillow-12.1.1-cp310-cp310-linux_x86_64.whl")


def test_a_linked_library_is_offered_by_its_name_in_the_recipe() -> None:
    offered = ("zlib_ng-1.0.0.tar.gz", "zlib_ng-1.1.0.tar.gz", "zlib_ng-2.0.0.tar.gz")

    releases = selected(*offered, used=LINKING)

    assert {name: names(sdists) for name, sdists in releases.statics.items()} == {
        "zlib": ["zlib_ng-1.1.0.tar.gz", "zlib_ng-1.0.0.tar.gz"]
    }


def test_of_an_ingredient_only_sdists_are_wanted() -> None:
    wanted = make_choice((LINKING,), INTERPRETER).is_wanted

    assert wanted("zlib_ng-1.1.0.tar.gz")
    assert not wanted("zlib_ng-1.1.0-cp311-cp311-manylinux_2_28_x86_64.whl")
    assert not make_choice((recipe(),), INTERPRETER).is_wanted("zlib_ng-1.1.0.tar.gz")


def test_the_compiler_runs_on_the_build_machine_not_the_target() -> None:
    there = replace(INTERPRETER, platform="linux-aarch64")
    built_here, built_there = make_choice((recipe(),), there, INTERPRETER), make_choice((recipe(),), there)
    ours, theirs = (f"ziglang-0.17.1-py3-none-manylinux_2_12_{machine}.whl" for machine in ("x86_64", "aarch64"))
    assert built_here.is_wanted(ours)
    assert not built_here.is_wanted(theirs)
    assert built_there.is_wanted(theirs)
    assert built_here.is_wanted("pillow-12.1.1-cp311-cp311-manylinux_2_28_aarch64.whl")
    assert not built_here.is_wanted("pillow-12.1.1-cp311-cp311-manylinux_2_28_x86_64.whl")


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({}, True),
        ({"version": "3.12.4", "abi": "cp312"}, False),
        ({"platform": "linux-aarch64"}, False),
        ({"libc_version": "2.17"}, False),
        ({"libc": "musl", "libc_version": "1.2"}, False),
    ],
)
def test_a_wheel_fits_a_python_a_machine_and_a_c_library(changes: dict[str, str], fits: bool) -> None:  # noqa: FBT001
    interpreter = changed(healthy_facts().interpreter, {"libc": "glibc", "libc_version": "2.36", **changes})
    assert is_installable("pillow-13.0.0+simd.v2.v3-cp311-cp311-manylinux_2_28_x86_64.whl", interpreter) is fits
