"""Labelled wheels on a static index, as uv and its preview read them; pip takes no name for a wheel that ends so."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from offered_wheels import BUILT, write_wheel
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from sandbox import UV, Result, Sandbox, run
from static_server import StaticServer, serving_files

from fastinstall.core.errors import FailedError
from fastinstall.core.files import sha256
from fastinstall.observe.session import Session, open_session
from fastinstall.wheelbuild.package_index import publish_wheel
from fastinstall.wheelbuild.variants import WheelVariant, label_variant, variant_of

TAG = "py3-none-any"
PREVIEW = ("--preview-features", "wheel-variants")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return open_session({"FASTINSTALL_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)})


@pytest.fixture
def directory(session: Session, tmp_path: Path) -> Path:
    """The plain wheel, the null variant and one for x86-64-v3, published."""
    directory = tmp_path / "served"
    plain = write_wheel(tmp_path / "made")
    alone = write_wheel(tmp_path / "made", "pillow", "13.0.0+simd.v3")
    for wheel in (plain, *_variants(tmp_path, {None: plain, "x86-64-v3": alone})):
        publish_wheel(session, wheel, sha256(wheel), directory)
    return directory


@pytest.fixture
def server(directory: Path) -> Iterator[StaticServer]:
    with serving_files(directory) as server:
        yield server


def test_the_index_tells_the_variants_of_a_version_once(directory: Path) -> None:
    told = directory / f"pillow-{BUILT}-variants.json"
    files = json.loads((directory / "simple/pillow/index.json").read_text())["files"]

    assert list(json.loads(told.read_text())["variants"]) == ["null", "x86_64_v3"]
    names = {file["filename"]: file["hashes"]["sha256"] for file in files}
    assert names[told.name] == sha256(told)
    assert f"pillow-{BUILT}-{TAG}-x86_64_v3.whl" in names


def test_pip_takes_no_labelled_wheel(directory: Path) -> None:
    taken = [path.name for path in directory.glob("*.whl") if _is_a_wheel_to_pip(path.name)]

    assert taken == [f"pillow-{BUILT}-{TAG}.whl"]


def test_variants_that_are_gone_are_told_no_more(session: Session, directory: Path, tmp_path: Path) -> None:
    for wheel in (*directory.glob("*-null.whl"), *directory.glob("*-x86_64_v3.whl")):
        wheel.unlink()

    publish_wheel(session, tmp_path / f"made/pillow-{BUILT}-{TAG}.whl", _sum_of_plain(tmp_path), directory)

    assert not list(directory.glob("*-variants.json"))
    assert "variants.json" not in (directory / "simple/pillow/index.html").read_text()


def test_a_labelled_wheel_that_does_not_say_what_it_is_gets_refused(
    session: Session, directory: Path, tmp_path: Path
) -> None:
    wheel = directory / f"pillow-{BUILT}-{TAG}-x86_64_v4.whl"
    wheel.write_bytes((tmp_path / f"made/pillow-{BUILT}-{TAG}.whl").read_bytes())

    with pytest.raises(FailedError, match=r"x86_64_v4\.whl: not a wheel .* it has no .*variant\.json"):
        publish_wheel(session, tmp_path / f"made/pillow-{BUILT}-{TAG}.whl", _sum_of_plain(tmp_path), directory)


def test_a_label_that_means_two_things_is_refused(session: Session, directory: Path, tmp_path: Path) -> None:
    odd = WheelVariant(label="x86_64_v3", properties={"x86_64": {"level": ["v4"]}})
    other = write_wheel(tmp_path / "made", "pillow", "13.0.0+simd.v4", "cp311-none-any")
    label_variant(other, BUILT, odd, directory)

    with pytest.raises(FailedError, match="another wheel means something else by the label 'x86_64_v3'"):
        publish_wheel(session, tmp_path / f"made/pillow-{BUILT}-{TAG}.whl", _sum_of_plain(tmp_path), directory)


def test_the_preview_of_uv_reads_the_variants_and_takes_one(server: StaticServer, sandbox: Sandbox) -> None:
    done = _uv(sandbox, *PREVIEW, "--verbose", "--default-index", f"{server.url}/simple", "pillow")

    assert done.exit_code == 0, done.text
    assert "Unknown variant metadata schema" not in done.stderr
    assert f"pillow-{BUILT}-variants.json" in server.names()
    (label,) = json.loads((_metadata(sandbox) / "variant.json").read_text())["variants"]
    assert label in ("null", "x86_64_v3")  # the second where this uv knows the CPU's level, and it is that


def test_uv_without_its_preview_takes_the_plain_wheel(server: StaticServer, sandbox: Sandbox) -> None:
    done = _uv(sandbox, "--default-index", f"{server.url}/simple", "pillow")

    assert done.exit_code == 0, done.text
    assert not (_metadata(sandbox) / "variant.json").exists()


def _is_a_wheel_to_pip(name: str) -> bool:
    try:
        parse_wheel_filename(name)
    except InvalidWheelFilename:
        return False
    return True


def _variants(tmp_path: Path, wheels: dict[str | None, Path]) -> list[Path]:
    return [label_variant(wheel, BUILT, variant_of(level), tmp_path / "made") for level, wheel in wheels.items()]


def _sum_of_plain(tmp_path: Path) -> str:
    return sha256(tmp_path / f"made/pillow-{BUILT}-{TAG}.whl")


def _uv(sandbox: Sandbox, *words: str) -> Result:
    target = ("--target", str(sandbox.root / "installed"), "--no-cache", "--python", sys.executable)
    plain = {"UV_NO_CONFIG": "1", "UV_INDEX": None, "UV_DEFAULT_INDEX": None, "UV_FIND_LINKS": None}
    return run((UV, "pip", "install", *target, *words), sandbox.variables(plain))


def _metadata(sandbox: Sandbox) -> Path:
    (found,) = (sandbox.root / "installed").glob("pillow-*.dist-info")
    return found
