"""A real build: the core of pillow-simd in the official Pillow wheel, which is then installed and used.

The wheel is built twice: with clang from the package index, and with the system's compiler. Needs a package index, a C
compiler and the headers of libjpeg-turbo and zlib. FASTINSTALL_TEST_CACHE names a directory that keeps the downloads
and the wheels for later runs.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fastinstall.core.archives import unpack_zip
from fastinstall.core.directories import recipes_directory
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Event, Noted, Progressed
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.symbols import find_defined_names, measure_unoptimised_share
from fastinstall.model.request import Request, ToolchainSource
from fastinstall.observe.environments import NamedTarget
from fastinstall.observe.recipes import load_recipe
from fastinstall.observe.session import open_session
from fastinstall.setup.look import look_for_wheel, open_run
from fastinstall.setup.proven_wheel import fetch_inputs
from fastinstall.wheelbuild.assemble import find_platform_tag
from fastinstall.wheelbuild.base_wheel import find_reached_libraries, open_base_wheel, take_version
from fastinstall.wheelbuild.build_inputs import BuildRequest, BuildResult
from fastinstall.wheelbuild.compile import STAGE
from fastinstall.wheelbuild.pipeline import build_wheel

LEVEL, NAME = "x86-64-v2", "pillow-simd"
OPERATIONS = """
import io
from PIL import Image, _imaging, features
image = Image.effect_noise((640, 480), 90).convert("RGB")
assert image.resize((100, 75), Image.Resampling.LANCZOS).size == (100, 75)
buffer = io.BytesIO()
image.save(buffer, "JPEG", quality=90)
assert Image.open(buffer).convert("RGB").size == (640, 480)
image.save(io.BytesIO(), "WEBP")
print(features.check("libjpeg_turbo"), features.check("webp"), features.check("freetype2"), features.check("avif"))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A finished build: its request, its result and its events."""

    request: BuildRequest
    result: BuildResult
    events: tuple[Event, ...]


@pytest.fixture(scope="session", params=[ToolchainSource.CLANG, ToolchainSource.SYSTEM])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    kept = os.environ.get("FASTINSTALL_TEST_CACHE")
    cache = Path(kept) if kept else tmp_path_factory.mktemp("cache")
    events: list[Event] = []
    order = replace(_request(cache, tmp_path_factory.mktemp("home"), request.param), emit=events.append)
    return Built(request=order, result=build_wheel(order), events=tuple(events))


@pytest.fixture(scope="session")
def tree(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of the unpacked wheel."""
    directory = tmp_path_factory.mktemp("tree")
    unpack_zip(built.result.wheel, directory)
    return directory


@pytest.fixture(scope="session")
def environment(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the Python of a fresh environment into which pip has installed the wheel."""
    prefix = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    python = prefix / "bin/python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", "-q", "--no-index", "--no-deps", str(built.result.wheel)], check=True)
    yield python
    subprocess.run([*pip, "uninstall", "-q", "-y", NAME], check=True)
    assert not list(prefix.rglob("PIL/*.py")), "uninstalling left files behind"


def core_of(built: Built, tree: Path) -> Path:
    return tree / "PIL" / f"_imaging{built.request.interpreter.extension_suffix}"


def test_the_core_needs_the_bundled_libraries_by_their_own_names(built: Built, tree: Path) -> None:
    needed = read_dynamic(core_of(built, tree)).needed
    bundled = [name for name in needed if (tree / "pillow.libs" / name).is_file()]
    links = {built.request.recipe.libraries[name].link for name in built.request.step.libraries} - {"z"}
    assert {name.partition("-")[0] for name in bundled} == {f"lib{link}" for link in links}
    assert set(needed) - set(bundled) <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libz.so.1"}


def test_the_core_looks_beside_itself_and_nowhere_else(built: Built, tree: Path) -> None:
    core = read_dynamic(core_of(built, tree))
    assert (core.rpath, core.runpath) == ("$ORIGIN/../pillow.libs", None)


def test_no_path_of_the_build_is_in_the_core(built: Built, tree: Path) -> None:
    content = core_of(built, tree).read_bytes()
    assert b"fastinstall-build" not in content
    assert str(built.request.cache).encode() not in content


def test_the_core_has_the_kernels_and_is_optimised_and_marked(built: Built, tree: Path) -> None:
    core = core_of(built, tree)
    symbols = built.request.recipe.expect.symbols
    assert find_defined_names(core, symbols) == set(symbols)
    share = measure_unoptimised_share(core)
    assert share is not None
    assert share < 0.1
    assert read_dynamic(core).isa_needed == LEVEL


def test_every_kernel_and_tuning_rule_finds_its_functions(built: Built) -> None:
    assert not [event for event in built.events if isinstance(event, Noted) and "is not used" in event.message]


def test_everything_but_core_and_version_is_the_official_wheel_s(built: Built, tree: Path, tmp_path: Path) -> None:
    assert built.request.base_wheel is not None
    unpack_zip(built.request.base_wheel, tmp_path)
    official = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    kept = {path for path in official if ".dist-info" not in path.parts[0]}
    there = {path for path in kept if (tree / path).is_file()}
    changed = {path.name for path in there if (tree / path).read_bytes() != (tmp_path / path).read_bytes()}
    assert changed == {core_of(built, tree).name, "_version.py"}
    assert {path.parts[0] for path in kept - there} <= {"pillow.libs"}


def test_every_bundled_library_is_one_that_some_module_reaches(tree: Path) -> None:
    reached = find_reached_libraries((tree / "PIL").glob("*.so"), tree / "pillow.libs")
    assert set(reached.values()) == set((tree / "pillow.libs").iterdir())


def test_auditwheel_certifies_what_the_tags_promise(built: Built) -> None:
    platforms = built.result.wheel.stem.split("-")[-1].split(".")
    certified = find_platform_tag(built.result.wheel, os.environ)
    assert certified.startswith("manylinux_")
    assert all(_glibc(certified) <= _glibc(platform) for platform in platforms)


def test_pip_installs_it_and_finds_nothing_wrong(environment: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(environment)]
    checked = subprocess.run([*pip, "check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    listed = subprocess.run([*pip, "list", "--format=json"], capture_output=True, text=True, check=True).stdout
    (pillow,) = [each for each in json.loads(listed) if each["name"].lower().startswith("pillow")]
    assert pillow["name"].replace("_", "-") == NAME
    assert "+simd.v2" in pillow["version"]


def test_it_works_with_every_codec_of_the_official_wheel(environment: Path) -> None:
    done = subprocess.run([environment, "-c", OPERATIONS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True"] * 4


def test_each_fork_defect_shows_there_not_in_the_official_wheel(
    built: Built, environment: Path, tmp_path: Path
) -> None:
    assert built.request.base_wheel is not None
    unpack_zip(built.request.base_wheel, tmp_path)
    lines = [each.demonstration for each in load_recipe("pillow-simd", (recipes_directory(),)).advisories]
    for line in filter(None, lines):
        said = [_said(environment, line, PYTHONPATH=path) for path in ("", str(tmp_path))]
        assert [answer.partition(":")[0] for answer in said] == ["wrong", "right"], said


def test_the_metadata_says_how_it_was_made(built: Built, tree: Path) -> None:
    (metadata,) = tree.glob("*.dist-info")
    provenance = json.loads((metadata / "fastinstall.json").read_text())
    assert [target["level"] for target in provenance["targets"]] == [LEVEL]
    assert built.request.step.source is not None
    assert provenance["source"]["sha256"] == built.request.step.source.sha256
    assert provenance["headers"]["jpeg"]
    bill = json.loads((metadata / "sboms/fastinstall.cdx.json").read_text())
    assert {"pillow", "pillow-simd"} <= {component["name"] for component in bill["components"]}


def test_a_second_build_is_a_hit_in_the_cache(built: Built) -> None:
    again = build_wheel(built.request)
    assert again.from_cache
    assert again.sha256 == built.result.sha256


def test_progress_counts_up_to_about_its_total(built: Built) -> None:
    if built.result.from_cache:
        pytest.skip("taken from FASTINSTALL_TEST_CACHE, so nothing was compiled")
    progress = [event for event in built.events if isinstance(event, Progressed) and event.stage == STAGE]
    assert [event.done for event in progress] == list(range(1, len(progress) + 1))
    assert len(progress) > 0.8 * progress[-1].total


def test_a_base_wheel_with_other_python_code_is_refused_by_file(built: Built, tree: Path, tmp_path: Path) -> None:
    assert built.request.base_wheel is not None
    suffix = built.request.interpreter.extension_suffix
    base_wheel = open_base_wheel(built.request.base_wheel, "PIL", suffix, tmp_path)
    (tmp_path / "PIL/ImageOps.py").write_text("# changed upstream\n")
    before = base_wheel.core.read_bytes()
    with pytest.raises(FailedError, match=r"ImageOps\.py"):
        take_version(base_wheel, tree)
    assert base_wheel.core.read_bytes() == before


def _glibc(platform: str) -> tuple[int, int]:
    _, major, minor, *_ = platform.split("_")
    return int(major), int(minor)


def _request(cache: Path, scratch: Path, toolchain: ToolchainSource) -> BuildRequest:
    """Return the request that `--recipe pillow-simd --level x86-64-v2 --dist-name pillow-simd` leads to."""
    session = open_session({**os.environ, "HOME": str(scratch), "FASTINSTALL_CACHE_DIR": str(cache)})
    request = Request(recipe="pillow-simd", level=LEVEL, dist_name=NAME, toolchain=toolchain)
    plan = look_for_wheel(session, NamedTarget(python=Path(sys.executable)), request)
    context = open_run(session, plan.request, Path(sys.executable))
    return plan.build.request_build(plan.interpreter, fetch_inputs(plan.prepare, context), context)


def _said(python: Path, line: str, **variables: str) -> str:
    command = [str(python), "-W", "error", "-c", line]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **variables})
    return done.stdout.strip()
