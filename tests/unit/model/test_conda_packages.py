from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from support.values.builders import PREFIX, changed, healthy_facts

from fastinstall.model.artefact import Artefact, LevelTarget
from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.conda_packages import (
    CHANNEL,
    find_required_glibc,
    is_our_package,
    make_bounded_spec,
    plan_guard_package,
    plan_stack_package,
    preference,
)
from fastinstall.model.facts import Facts
from fastinstall.model.recipe import NativeRequirement
from fastinstall.model.request import LinkMode
from fastinstall.setup.steps.build import Build

CPUS = {"x86-64-v2": ("x86_64_v2", "x86_64_v3", "nehalem"), "x86-64-v3": ("x86_64_v3",), "native": ("zen3", "zen4")}
LIBRARIES = {
    "jpeg": NativeRequirement(header="jpeglib.h", link="jpeg", conda=("libjpeg-turbo",)),
    "zlib": NativeRequirement(header="zlib.h", link="z", conda=("zlib", "libzlib")),
    "tiff": NativeRequirement(header="tiffio.h", link="tiff", conda=("libtiff",)),
}


def package(name: str, version: str, build: str = "h1234567_0") -> CondaPackage:
    return CondaPackage(name=name, version=version, build=build)


def facts(*packages: CondaPackage) -> Facts:
    conda = Conda(packages=(package("python", "3.11.7", "h1234567_0_cpython"), *packages), unreadable={})
    return replace(healthy_facts(), conda=conda)


def build(*levels: str, version: str = "13.0.0+simd.v2.v3", platforms: str = "", link: str = "bundle") -> Build:
    name = f"pillow-13.0.0-cp311-cp311-{platforms}.whl"
    base_wheel = Artefact(name="pillow", version="13.0.0", filename=name, url="", sha256="")
    return Build(
        recipe="pillow-fast",
        source=None,
        base_wheel=base_wheel if platforms else None,
        distribution="pillow",
        version=version,
        targets=tuple(
            LevelTarget(level=level, cflags=(), ldflags=()) for level in levels or ("x86-64-v2", "x86-64-v3")
        ),
        link=LinkMode(link),
        libraries=("jpeg", "zlib", "tiff"),
        jobs=1,
        reason="a test",
    )


def planned(step: Build, target: Facts | None = None, number: int = 0) -> CondaPackage:
    return plan_stack_package(step, target or facts(), CPUS, number=number, libraries=LIBRARIES)


def test_it_is_named_by_version_levels_and_python() -> None:
    made = planned(build(), number=2)
    assert made.dist == "pillow-13.0.0-simd_v2v3_py311_2"
    assert made.subdir == "linux-64"
    assert made.channel == f"file://{PREFIX}/{CHANNEL}"


def test_on_arm_it_is_for_the_processors_of_its_level() -> None:
    step = build("armv8-a", version="13.0.0+simd.armv8a", platforms="manylinux_2_28_aarch64")
    target = changed(facts(), {"cpu": {"architecture": "aarch64"}})
    made = plan_stack_package(step, target, {"armv8-a": ("aarch64", "neoverse_n1")}, number=0)
    assert (made.subdir, made.build) == ("linux-aarch64", "simd_armv8a_py311_0")
    assert '__archspec ==1[build="^aarch64$|^1$|^neoverse_n1$|^aarch64$"]' in made.depends
    assert is_our_package(made)


@pytest.mark.parametrize(
    ("version", "levels", "expected"),
    [
        ("13.0.0+simd.v3", ("x86-64-v3",), "simd_v3_py311_0"),
        ("13.0.0+simd.native", ("native",), "simd_native_py311_0"),
        ("13.0.0+opt.v2", ("x86-64-v2",), "opt_v2_py311_0"),
    ],
)
def test_its_build_string_tells_the_recipe_and_the_levels(version: str, levels: tuple[str, ...], expected: str) -> None:
    assert planned(build(*levels, version=version)).build == expected


def test_it_needs_a_processor_that_has_its_lowest_level() -> None:
    pattern = "^x86_64_v2$|^1$|^x86_64_v3$|^nehalem$|^x86_64_v2$"
    assert f'__archspec ==1[build="{pattern}"]' in planned(build()).depends


def test_a_level_that_no_processor_is_known_for_asks_for_none() -> None:
    assert not [spec for spec in planned(build("x86-64-v1")).depends if spec.startswith("__archspec")]


def test_the_package_needs_the_glibc_of_the_official_wheel() -> None:
    made = planned(build(platforms="manylinux_2_27_x86_64.manylinux_2_28_x86_64"))
    assert "__glibc >=2.27,<3.0.a0" in made.depends


def test_it_needs_the_local_glibc_without_an_official_wheel() -> None:
    assert f"__glibc >={healthy_facts().interpreter.libc_version},<3.0.a0" in planned(build()).depends


def test_on_musl_it_needs_no_glibc() -> None:
    target = facts()
    target = replace(target, interpreter=replace(target.interpreter, libc="musl"))
    assert not [spec for spec in planned(build(), target).depends if spec.startswith("__glibc")]


def test_the_package_needs_pythons_minor_version_and_known_abi() -> None:
    assert planned(build()).depends[0] == "python >=3.11,<3.12.0a0"
    told = facts(package("python_abi", "3.11", "8_cp311"))
    assert planned(build(), told).depends[:2] == ("python >=3.11,<3.12.0a0", "python_abi 3.11.* *_cp311")


def test_an_abi_in_pythons_build_string_excludes_free_threading() -> None:
    conda = Conda(packages=(package("python", "3.13.1", "h1234567_102_cp313"),), unreadable={})
    interpreter = replace(healthy_facts().interpreter, version="3.13.1", abi="cp313")
    target = replace(healthy_facts(), conda=conda, interpreter=interpreter)
    assert planned(build(), target).depends[0] == "python >=3.13,<3.14.0a0 *_cp313"


def test_outside_of_conda_it_is_planned_all_the_same() -> None:
    assert planned(build(), healthy_facts()).depends[0] == "python >=3.11,<3.12.0a0"


def test_an_env_linked_package_needs_libraries_by_installed_name() -> None:
    installed = facts(package("libjpeg-turbo", "3.0.3"), package("libzlib", "1.3.1"), package("libtiff", "4.7.0"))
    depends = planned(build(link="env"), installed).depends
    assert depends[-3:] == ("libjpeg-turbo >=3.0.3,<4.0a0", "libtiff >=4.7.0,<5.0a0", "libzlib >=1.3.1,<2.0a0")
    assert "libtiff >=4.7.0,<5.0a0" not in planned(build(), installed).depends


def test_a_library_that_is_linked_in_is_not_needed() -> None:
    installed = facts(package("libjpeg-turbo", "3.0.3"), package("zlib", "1.3.1"))
    sdist = Artefact(name="zlib-ng", version="1.1.0", filename="", url="", sha256="")
    depends = planned(replace(build(link="env"), statics={"zlib": sdist}), installed).depends
    assert [spec.split()[0] for spec in depends if "lib" in spec.split()[0]] == ["__glibc", "libjpeg-turbo"]


def test_no_other_package_with_the_same_modules_may_be_beside_it() -> None:
    assert planned(build()).constrains == ("pillow-simd <0.0.0a", "pil <0.0.0a")


def test_the_guard_lets_nothing_but_its_own_kind_of_builds_in() -> None:
    guard = plan_guard_package(planned(build()), PurePosixPath("/srv/env"))
    assert (guard.name, guard.subdir, guard.depends) == ("fastinstall-guard", "noarch", ())
    assert guard.constrains == ("pillow * simd_*",)
    assert guard.channel == f"file:///srv/env/{CHANNEL}"


def test_higher_levels_are_preferred_and_single_ones_to_several() -> None:
    order = [("v2",), ("v2", "v3"), ("v3",), ("v2", "v3", "v4"), ("v3", "v4"), ("v4",)]
    numbers = [preference(tuple(f"x86-64-{level}" for level in levels)) for levels in order]
    assert numbers == sorted(set(numbers))
    assert preference(("native",)) > max(numbers)
    assert planned(build(), number=7).build_number == planned(build()).build_number + 7


@pytest.mark.parametrize(
    ("name", "build_string", "expected"),
    [
        ("pillow", "simd_v2v3_py311_0", True),
        ("pillow", "opt_native_py313t_1", True),
        ("fastinstall-guard", "h1234567_0", True),
        ("pillow", "py311h1234567_0", False),
        ("libtiff", "simd_v2v3_py311_0", False),
    ],
)
def test_what_we_made_is_told_by_its_build_string(name: str, build_string: str, *, expected: bool) -> None:
    assert is_our_package(package(name, "13.0.0", build_string)) is expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("3.0.3", "x >=3.0.3,<4.0a0"),
        ("9e", "x >=9e,<10.0a0"),
        ("0.8.1", "x >=0.8.1,<0.9.0a0"),
        ("nightly", "x nightly"),
    ],
)
def test_bounds_reach_to_the_next_major_release(version: str, expected: str) -> None:
    assert make_bounded_spec(package("x", version), Conda(packages=(), unreadable={})) == expected


def test_bounds_are_those_that_most_installed_packages_set() -> None:
    specs = ("libtiff >=4.7.0,<4.8.0a0", "libtiff >=4.7.0,<4.8.0a0", "libtiff", "libtiff >=4.5,<5", "libtiffx <9")
    users = tuple(replace(package(f"user{number}", "1"), depends=(spec,)) for number, spec in enumerate(specs))
    conda = Conda(packages=users, unreadable={})
    assert make_bounded_spec(package("libtiff", "4.7.1"), conda) == "libtiff >=4.7.1,<4.8.0a0"


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("manylinux_2_28_x86_64.manylinux_2_27_x86_64", (2, 27)),
        ("manylinux2014_x86_64.manylinux_2_17_x86_64", (2, 17)),
        ("linux_x86_64", None),
    ],
)
def test_the_oldest_promise_of_platform_tags_counts(tags: str, expected: tuple[int, int] | None) -> None:
    assert find_required_glibc(tags) == expected
