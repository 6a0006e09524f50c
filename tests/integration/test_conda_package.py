"""The stack as conda packages, installed by conda 24.7.1 and by py-rattler."""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.conda.asynchronous import complete
from support.conda.channel import CondaChannel, local_channel
from support.conda.environments import NewEnvironment, builds, rattler_environment
from support.conda.packages import CondaPackage as Metadata
from support.conda.packed_stack import PackedStack, interpreter, labelled_wheel, packed_stack, planned
from support.conda.real_conda import RealConda
from support.elf.jpeg_libraries import patchelf
from support.sandbox import NewSandbox, Sandbox, run, tree_hash

from fastinstall.conda.channel import publish_packages
from fastinstall.conda.package import pack_stack
from fastinstall.core.archives import unpack_zip
from fastinstall.core.errors import FailedError
from fastinstall.model.conda import CondaPackage
from fastinstall.wheelbuild.wheel_files import pack_wheel

pytest_plugins = ("support.conda.fixtures",)

BOTH = ("x86-64-v2", "x86-64-v3")
OLD_CPU = {"CONDA_OVERRIDE_ARCHSPEC": "sandybridge"}
USE = """
import io
import PIL
from PIL import Image, ImageFont, features
image = Image.new("RGB", (64, 64), "red").resize((32, 32), Image.Resampling.LANCZOS)
image.save(io.BytesIO(), "JPEG")
print(PIL.__file__, features.check("libtiff"))
"""


@pytest.fixture(scope="module")
def stack(new_sandbox: NewSandbox, channel: CondaChannel) -> Iterator[PackedStack]:
    with new_sandbox() as sandbox:
        wheel = labelled_wheel(channel.wheel, sandbox.root)
        yield packed_stack(wheel, sandbox.root / "ours", *BOTH)


@pytest.fixture(scope="module")
def rattler_prefix(
    new_sandbox: NewSandbox, channel: CondaChannel, stack: PackedStack, unpacked: Path
) -> Iterator[Path]:
    specs = ("python", "pip", "pillow", "fastinstall-guard", "imgtool")
    with new_sandbox() as sandbox:
        yield rattler_environment([stack.url, channel.url], sandbox.root / "env", specs, unpacked)


def test_what_rattler_links_works_and_pip_and_conda_agree_on_it(
    rattler_prefix: Path, sandbox: Sandbox, stack: PackedStack
) -> None:
    assert builds(rattler_prefix)["pillow"] == f"{stack.package.version} {stack.package.build}"
    _assert_agreement(rattler_prefix, sandbox.variables())
    _assert_as_recorded(rattler_prefix)


def test_its_bytecode_is_valid_where_it_is_linked(rattler_prefix: Path, sandbox: Sandbox) -> None:
    (site,) = rattler_prefix.glob("lib/python3*/site-packages")
    before = tree_hash(site / "PIL")
    assert any(path.endswith(".pyc") for path in before)
    assert run((rattler_prefix / "bin/python", "-c", USE), sandbox.variables()).exit_code == 0
    assert tree_hash(site / "PIL") == before


def test_conda_installs_keeps_and_defends_it(
    conda: RealConda, new_environment: NewEnvironment, sandbox: Sandbox, stack: PackedStack, channel: CondaChannel
) -> None:
    prefix = new_environment(sandbox.root / "env", "python", "pip", "imgtool")
    both = ("-c", stack.url, "-c", channel.url)
    conda.install(prefix, *both, f"pillow={channel.pillow}=simd_*", "fastinstall-guard")
    _assert_agreement(prefix, conda.variables)
    _assert_as_recorded(prefix)
    assert conda.list(prefix)["pillow"]["build_string"] == stack.package.build
    refused = conda.run("install", "--yes", "--prefix", prefix, *both, f"pillow={channel.newer_pillow}")
    assert refused.exit_code != 0
    assert "fastinstall-guard" in refused.text
    conda.install(prefix, *both, "puretool")
    assert conda.run("update", "--yes", "--quiet", "--prefix", prefix, *both, "--all").exit_code == 0
    assert "puretool" in builds(prefix)
    assert builds(prefix)["pillow"] == f"{channel.pillow} {stack.package.build}"


def test_rattler_keeps_and_defends_it(
    rattler_prefix: Path, stack: PackedStack, channel: CondaChannel, unpacked: Path
) -> None:
    from rattler.exceptions import SolverError

    urls = [channel.url, stack.url]
    rattler_environment(urls, rattler_prefix, ("puretool",), unpacked)
    assert builds(rattler_prefix)["pillow"].endswith(stack.package.build)
    with pytest.raises(SolverError, match="fastinstall-guard"):
        rattler_environment(urls, rattler_prefix, (f"pillow={channel.newer_pillow}",), unpacked)


def test_both_solvers_refuse_a_cpu_without_the_level(
    conda: RealConda, sandbox: Sandbox, stack: PackedStack, channel: CondaChannel
) -> None:
    lacking = planned(stack.wheel, "x86-64-v3")
    made = Metadata(name=lacking.name, version=lacking.version, build=lacking.build, depends=lacking.depends)
    url = local_channel(sandbox.root / "v3", made)
    words = ("--dry-run", "--yes", "--prefix", sandbox.root / "env", "-c", url, "-c", channel.url)
    refused = conda.run("create", *words, "python", "pillow=*=simd_v3_*", changes=OLD_CPU)
    assert refused.exit_code != 0
    assert "__archspec" in refused.text
    assert "__archspec" in _refused_by_rattler([url, channel.url], "sandybridge")
    assert _refused_by_rattler([url, channel.url], "haswell") == ""


def test_both_solvers_pick_the_best_build_the_cpu_can_run(
    conda: RealConda, sandbox: Sandbox, stack: PackedStack, channel: CondaChannel
) -> None:
    several = [planned(stack.wheel, *levels) for levels in (("x86-64-v2",), BOTH, ("x86-64-v3",), ("x86-64-v4",))]
    made = [
        Metadata(
            name=each.name,
            version=each.version,
            build=f"simd_{number}",
            build_number=each.build_number,
            depends=each.depends,
        )
        for number, each in enumerate(several)
    ]
    url = local_channel(sandbox.root / "several", *made)
    urls = [url, channel.url]
    assert [_solved_by_rattler(urls, cpu) for cpu in ("nehalem", "haswell", "zen4")] == ["simd_1", "simd_2", "simd_3"]
    words = ("--dry-run", "--json", "--yes", "--prefix", sandbox.root / "env", "-c", url, "-c", channel.url)
    done = conda.run("create", *words, "python", "pillow", changes={"CONDA_OVERRIDE_ARCHSPEC": "haswell"})
    assert [each["build_string"] for each in done.document["actions"]["LINK"] if each["name"] == "pillow"] == ["simd_2"]


def test_the_same_wheel_gives_the_same_bytes(stack: PackedStack, tmp_path: Path) -> None:
    again = packed_stack(stack.wheel, tmp_path / "again", *BOTH)
    assert (again.package.sha256, again.guard.sha256) == (stack.package.sha256, stack.guard.sha256)
    for subdir in ("linux-64", "noarch"):
        index = f"{subdir}/repodata.json"
        assert (again.channel / index).read_bytes() == (stack.channel / index).read_bytes()


def test_a_package_of_other_content_gets_the_next_number(small_wheel: Path, tmp_path: Path) -> None:
    first, again = (_published(small_wheel, tmp_path / "channel") for _ in range(2))
    other = _published(_changed(small_wheel, tmp_path, "PIL/extra.py", b"pass\n"), tmp_path / "channel")
    assert (first.build, again, other.build) == ("simd_v3_py311_0", first, "simd_v3_py311_1")
    index = json.loads((tmp_path / "channel/linux-64/repodata.json").read_text())
    assert [record["build_number"] for record in index["packages.conda"].values()] == [3300, 3301]


def test_a_library_with_an_absolute_run_path_is_refused(small_wheel: Path, tmp_path: Path) -> None:
    wheel = _repacked(small_wheel, tmp_path, lambda tree: patchelf("--set-rpath", "/opt/env/lib", _module(tree)))
    with pytest.raises(FailedError, match="/opt/env/lib"):
        pack_stack(wheel, planned(wheel, "x86-64-v3"), interpreter(), tmp_path / "channel")


def test_a_library_that_looks_outside_the_environment_is_refused(small_wheel: Path, tmp_path: Path) -> None:
    outside = "$ORIGIN/../../../../../lib"
    wheel = _repacked(small_wheel, tmp_path, lambda tree: patchelf("--set-rpath", outside, _module(tree)))
    with pytest.raises(FailedError, match="which exists only here"):
        pack_stack(wheel, planned(wheel, "x86-64-v3"), interpreter(), tmp_path / "channel")


def test_one_that_looks_in_the_environment_is_packed(small_wheel: Path, tmp_path: Path) -> None:
    wheel = _repacked(small_wheel, tmp_path, lambda tree: patchelf("--set-rpath", "$ORIGIN/../../..", _module(tree)))
    assert pack_stack(wheel, planned(wheel, "x86-64-v3"), interpreter(), tmp_path / "channel").sha256


def test_a_wheel_of_another_version_than_planned_is_refused(small_wheel: Path, tmp_path: Path) -> None:
    wrong = replace(planned(small_wheel, "x86-64-v3"), version="1.0")
    with pytest.raises(FailedError, match="was planned"):
        pack_stack(small_wheel, wrong, interpreter(), tmp_path / "channel")


def test_a_wheel_for_another_python_is_refused(small_wheel: Path, tmp_path: Path) -> None:
    other = replace(interpreter(), abi="cp38")
    with pytest.raises(FailedError, match="cp38"):
        pack_stack(small_wheel, planned(small_wheel, "x86-64-v3"), other, tmp_path / "channel")


def test_a_damaged_wheel_is_refused(small_wheel: Path, tmp_path: Path) -> None:
    damaged = tmp_path / small_wheel.name
    with zipfile.ZipFile(small_wheel) as archive, zipfile.ZipFile(damaged, "w") as written:
        for name in archive.namelist():
            written.writestr(name, archive.read(name) + (b"#" if name == "PIL/__init__.py" else b""))
    with pytest.raises(FailedError, match=r"PIL/__init__\.py"):
        pack_stack(damaged, planned(damaged, "x86-64-v3"), interpreter(), tmp_path / "channel")


@pytest.fixture(scope="module")
def small_wheel(stack: PackedStack, new_sandbox: NewSandbox) -> Iterator[Path]:
    """Yield the stack's wheel, reduced to a few modules."""
    with new_sandbox() as sandbox:

        def shrink(tree: Path) -> None:
            kept = ("__init__.py", "_version.py", _module(tree).name)
            for path in (*tree.glob("PIL/*"), *tree.glob("pillow.libs/*")):
                if path.name not in kept:
                    path.unlink()

        yield _repacked(stack.wheel, sandbox.root, shrink)


def _repacked(wheel: Path, directory: Path, change: Callable[[Path], object]) -> Path:
    unpack_zip(wheel, directory / "tree")
    change(directory / "tree")
    pack_wheel(directory / "tree", directory / wheel.name, compress=False)
    return directory / wheel.name


def _changed(wheel: Path, directory: Path, path: str, content: bytes) -> Path:
    return _repacked(wheel, directory, lambda tree: (tree / path).write_bytes(content))


def _module(tree: Path) -> Path:
    return next(tree.glob("PIL/_imagingmath.*.so"))


def _published(wheel: Path, channel: Path) -> CondaPackage:
    def packed(number: int, place: Path) -> CondaPackage:
        return pack_stack(wheel, planned(wheel, "x86-64-v3", number=number), interpreter(), place)

    return publish_packages(packed, None, channel).package


def _assert_agreement(prefix: Path, variables: Mapping[str, str]) -> None:
    """Assert that pip finds no conflict, lists the stack once, and that the stack works."""
    pip = (prefix / "bin/python", "-m", "pip", "--disable-pip-version-check")
    assert run((*pip, "check"), variables).exit_code == 0
    listed = json.loads(run((*pip, "list", "--format", "json"), variables).stdout)
    assert [each["version"] for each in listed if each["name"].lower().startswith("pil")] == ["12.1.1+simd.v2.v3"]
    used = run((prefix / "bin/python", "-c", USE), variables)
    assert used.stdout.split() == [str(next(prefix.glob("lib/python3*/site-packages/PIL/__init__.py"))), "True"]


def _assert_as_recorded(prefix: Path) -> None:
    """Assert that every file matches its record, and that every file has a record."""
    (path,) = prefix.glob("conda-meta/pillow-*.json")
    recorded: dict[str, Any] = {each["_path"]: each for each in json.loads(path.read_text())["paths_data"]["paths"]}
    site = next(prefix.glob("lib/python3*/site-packages"))
    trees = (*site.glob("PIL"), *site.glob("pillow*"))
    found = {each.relative_to(prefix).as_posix() for tree in trees for each in tree.rglob("*") if each.is_file()}
    assert found == set(recorded)
    for name, each in recorded.items():
        assert each["sha256"] == hashlib.sha256((prefix / name).read_bytes()).hexdigest()


def _solved_by_rattler(urls: list[str], processor: str) -> str:
    from rattler import Channel, GenericVirtualPackage, PackageName, Version, VirtualPackage, solve
    from rattler.package import BuildString

    virtual = [each.into_generic() for each in VirtualPackage.detect()]
    own = GenericVirtualPackage(PackageName("__archspec"), Version("1"), BuildString(processor))
    records = complete(
        solve(
            [Channel(url) for url in urls],
            ["python", "pillow * simd_*"],
            platforms=["linux-64", "noarch"],
            virtual_packages=[*(each for each in virtual if each.name.normalized != "__archspec"), own],
        )
    )
    return next(str(record.build) for record in records if record.name.normalized == "pillow")


def _refused_by_rattler(urls: list[str], processor: str) -> str:
    from rattler.exceptions import SolverError

    try:
        _solved_by_rattler(urls, processor)
    except SolverError as error:
        return str(error)
    return ""
