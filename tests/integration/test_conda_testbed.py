"""The conda testbed is realistic: its channel and its conda, and the environments made from these.

Needs a package index and a C compiler. Downloads and built packages are kept in FASTINSTALL_TEST_CACHE if it is set.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.conda.channel import CondaChannel, fake, local_channel
from support.conda.environments import (
    OLD,
    USUAL,
    NewEnvironment,
    builds,
    classic_recipe,
    rattler_environment,
    simd_wheel,
)
from support.conda.real_conda import RealConda, plugged
from support.made_once import made_once
from support.sandbox import NewSandbox, Result, Sandbox, run
from support.suite import extent

pytest_plugins = ("support.conda.fixtures",)

ALL = extent.every_row
LOADED = """
import io, sys
from PIL import Image, features
image = Image.effect_mandelbrot((64, 64), (-2, -2, 2, 2), 50).convert("RGB")
for kind, words in (("JPEG", {"quality": 90}), ("TIFF", {"compression": "tiff_lzw"})):
    stream = io.BytesIO()
    image.save(stream, kind, **words)
    assert Image.open(stream).convert("L").getextrema() == (0, 255), kind
print(features.version("jpg"))
print(*sorted({line.split()[-1] for line in open("/proc/self/maps") if "/libjpeg" in line or "/libtiff" in line}))
"""
PLUGIN = """
import conda.plugins
import conda.plugins.types

@conda.plugins.hookimpl
def conda_subcommands():
    yield conda.plugins.types.CondaSubcommand(name="hello", summary="", action=lambda words: print("hello", *words))
"""


@pytest.fixture(scope="module")
def space(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    with new_sandbox() as made:
        yield made


@pytest.fixture(scope="module")
def usual(conda_environment: NewEnvironment, space: Sandbox) -> Path:
    """Return an environment with the usual packages; no test changes it."""
    return conda_environment(space.root / "usual", *USUAL)


@pytest.fixture(scope="module")
def old(conda_environment: NewEnvironment, space: Sandbox) -> Path:
    """Return an environment with old packages; no test changes it."""
    return conda_environment(space.root / "old", *OLD)


def python(prefix: Path, *words: str, sandbox: Sandbox) -> Result:
    return run((prefix / "bin/python", *words), sandbox.variables())


def history(prefix: Path) -> set[str]:
    """Return the packages that the history lists as linked, and the specs that were requested last."""
    *_, asked = lines = (prefix / "conda-meta/history").read_text().splitlines()
    return {*(line for line in lines if line.startswith("+")), *re.findall("'(.*?)'", asked)}


def test_python_is_its_own_base_and_runs_its_packages(usual: Path, sandbox: Sandbox, channel: CondaChannel) -> None:
    program = "import sys, sysconfig; print(sys.prefix, sys.base_prefix, sysconfig.get_path('include'), sys.version)"
    prefix, base, include, version, *_ = python(usual, "-c", program, sandbox=sandbox).stdout.split()
    assert (prefix, base, version) == (str(usual), str(usual), channel.python)
    assert Path(include, "Python.h").is_relative_to(usual)
    assert Path(include, "Python.h").is_file()
    packers = "import lzma, zlib; print(*{line.split()[-1] for line in open('/proc/self/maps') if '.so.' in line})"
    loaded = python(usual, "-c", packers, sandbox=sandbox).stdout.split()
    assert {f"{usual}/lib/libz.so.1", f"{usual}/lib/liblzma.so.5"} <= set(loaded)
    assert run((usual / "bin/pip", "check"), sandbox.variables()).stdout == "No broken requirements found.\n"


def test_todays_pillow_works_with_its_environments_libraries(usual: Path, sandbox: Sandbox) -> None:
    _version, *libraries = python(usual, "-c", LOADED, sandbox=sandbox).stdout.split()
    assert libraries == [f"{usual}/lib/libjpeg.so.62", f"{usual}/lib/libtiff.so.6"]
    others = "from PIL import _avif, _imagingcms, _imagingft, _imagingmath, _imagingmorph, _webp"
    assert python(usual, "-c", others, sandbox=sandbox).text == ""


def test_the_old_pillow_works_with_the_ijgs_libjpeg(old: Path, sandbox: Sandbox) -> None:
    version, *libraries = python(old, "-c", LOADED, sandbox=sandbox).stdout.split()
    assert version == "9.0"
    assert libraries == [f"{old}/lib/libjpeg.so.9", f"{old}/lib/libtiff.so.6"]


def test_conda_finds_an_environment_whole_that_py_rattler_made(usual: Path, conda: RealConda) -> None:
    seen = {name: f"{record['version']} {record['build_string']}" for name, record in conda.list(usual).items()}
    assert seen == builds(usual)
    told = conda.run("doctor", "--prefix", usual).stdout
    assert "no packages with altered files" in told
    assert "no packages with missing files" in told


@pytest.mark.skipif(not ALL, reason="the testbed against conda itself: --every-row")
def test_conda_makes_the_same_environment(conda: RealConda, usual: Path, sandbox: Sandbox) -> None:
    made = conda.create(sandbox.root / "made", *USUAL)
    assert builds(made) == builds(usual)
    assert history(made) == history(usual)
    assert python(made, "-c", LOADED, sandbox=sandbox).stdout.split()[1].startswith(f"{made}/lib/libjpeg.so.62")


def test_an_unrelated_install_brings_a_removed_pillow_back(
    conda_environment: NewEnvironment, conda: RealConda, channel: CondaChannel, sandbox: Sandbox
) -> None:
    usual = conda_environment(sandbox.root / "usual", *USUAL)
    conda.remove(usual, "--force", "pillow")
    assert "pillow" not in builds(usual)
    conda.install(usual, "puretool=1.1")
    assert builds(usual)["pillow"].startswith(channel.newer_pillow)


def test_the_names_of_libjpeg_belong_to_whoever_came_last(
    conda_environment: NewEnvironment, conda: RealConda, sandbox: Sandbox
) -> None:
    old = conda_environment(sandbox.root / "old", "jpeg")
    names = (old / "lib/libjpeg.so", old / "include/jpeglib.h")
    assert names[0].readlink() == Path("libjpeg.so.9")
    conda.install(old, "libjpeg-turbo")
    assert names[0].readlink() == Path("libjpeg.so.62")
    assert "libjpeg-turbo" in names[1].read_text(errors="replace")
    conda.install(old, "--force-reinstall", "--no-deps", "jpeg")
    assert names[0].readlink() == Path("libjpeg.so.9")
    assert "libjpeg-turbo" not in names[1].read_text(errors="replace")


def test_classic_recipe_leaves_two_owners_and_another_libjpeg(
    conda_environment: NewEnvironment, conda: RealConda, channel: CondaChannel, sandbox: Sandbox
) -> None:
    old = conda_environment(sandbox.root / "old", *OLD)
    wheel = simd_wheel(channel.wheel, sandbox.root)
    removal, *others = classic_recipe(conda, old, wheel)
    assert [step.exit_code for step in others] == [0, 0, 0, 0], [step.text for step in others]
    assert builds(old)["pillow"].startswith(channel.old_pillow)
    assert list(old.glob(f"lib/python3*/site-packages/pillow_simd-{channel.pillow}.dist-info/METADATA"))
    # a failed removal leaves libjpeg-turbo's library
    last = "libjpeg.so.9" if removal.exit_code == 0 else "libjpeg.so.62"
    assert (old / "lib/libjpeg.so").readlink() == Path(last)


def test_a_solve_may_want_to_touch_python(usual: Path, conda: RealConda, channel: CondaChannel) -> None:
    done = conda.run("install", "--dry-run", "--json", "--prefix", usual, "pytorch=2.5")
    actions = done.document["actions"]
    linked = {record["name"]: record["version"] for record in actions["LINK"]}
    assert linked["python"] == channel.earlier_python
    assert "python" in {record["name"] for record in actions["UNLINK"]}


def test_a_test_may_have_a_channel_of_its_own(
    channel: CondaChannel, conda: RealConda, sandbox: Sandbox, unpacked: Path
) -> None:
    url = local_channel(sandbox.root / "channel", fake("owntool", "1.0", "jpeg"))
    made = rattler_environment((url, channel.url), sandbox.root / "made", ("owntool",), unpacked)
    assert builds(made) == {"owntool": "1.0 h1234567_0", "jpeg": "9e h1234567_0"}
    known = conda.at(sandbox.root / "conda", url, channel.url)
    assert known.run("search", "--json", "owntool").document["owntool"][0]["url"].startswith(url)


def test_a_plugin_of_the_checkout_is_found(conda: RealConda, sandbox: Sandbox) -> None:
    directory = sandbox.root / "plugins"
    variables = plugged(conda, directory, "plugin = plugin_of_the_test")
    (directory / "plugin_of_the_test.py").write_text(PLUGIN)
    assert conda.run("hello", "there", changes=variables).stdout == "hello there\n"


def test_two_workers_make_a_thing_once(tmp_path: Path) -> None:
    made = []

    def make(directory: Path) -> None:
        made.append(directory)
        (directory / "file").touch()

    with ThreadPoolExecutor(2) as pool:
        places = list(pool.map(lambda name: made_once(tmp_path / name, make), ("thing", "thing")))
    assert made == [tmp_path / "thing"]
    assert all((place / "file").exists() for place in places)
