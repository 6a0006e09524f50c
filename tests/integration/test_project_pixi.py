"""A pinned pixi workspace. pixi is not available: its solver, py-rattler, solves for the manifest instead."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.conda.asynchronous import complete
from support.conda.packages import CondaPackage, index_channel
from support.sandbox import run, tree_hash
from support.values.builders import changed, conda_receipt

from fastinstall.core.errors import RefusedError
from fastinstall.journal.layout import RECEIPT
from fastinstall.model.receipt import Receipt
from fastinstall.pins.pin_project import make_pin
from fastinstall.pins.recognition import project_of, read_project_pin

MANIFEST = """\
[workspace]
channels = ["{channel}"]  # of the test
platforms = ["linux-64"]

[dependencies]
frame = "*"
pillow = "*"
"""
OURS = CondaPackage(name="pillow", version="12.1.1", build="simd_v3_py311_0")


@pytest.fixture
def stock(tmp_path: Path) -> str:
    """Return the URL of a channel with a later Pillow, and with a package that requires a later Pillow."""
    for version in ("12.1.1", "13.0.0"):
        CondaPackage(name="pillow", version=version, build="py311h123_0").write(tmp_path / "stock")
    CondaPackage(name="frame", version="1", build="0", depends=("pillow >=8",)).write(tmp_path / "stock")
    return index_channel(tmp_path / "stock")


@pytest.fixture
def prefix(tmp_path: Path, stock: str) -> Path:
    """Return a workspace's environment, with the channel that a setup creates in it."""
    workspace = tmp_path / "workspace"
    prefix = workspace / ".pixi" / "envs" / "default"
    OURS.write(prefix / "share" / "fastinstall" / "channel")
    index_channel(prefix / "share" / "fastinstall" / "channel")
    (workspace / "pixi.toml").write_text(MANIFEST.format(channel=stock))
    return prefix


def _receipt(prefix: Path, **changes: Any) -> Receipt:
    return changed(conda_receipt(), {"conda": {"channel": str(prefix / "share/fastinstall/channel")}, **changes})


def _pin(prefix: Path, receipt: Receipt, wheels: Path | None = None) -> str:
    project = project_of(prefix)
    assert project is not None
    kept = wheels or prefix.parents[3] / "kept"
    diff = make_pin(prefix, project, receipt, Path("none.whl"), kept, {}).diff
    _apply(diff, prefix)
    return diff


def _apply(diff: str, prefix: Path, *flags: str) -> None:
    patch = prefix.parents[3] / "pin.patch"
    patch.write_text(diff)
    done = run(("git", "apply", *flags, patch), os.environ, directory=prefix.parents[2])
    assert done.exit_code == 0, done.text


def _solved(workspace: Path) -> dict[str, str]:
    """Solve for the manifest's dependencies, read as pixi does; return the packages' versions and builds, by name."""
    from rattler import Channel, solve

    said = tomllib.loads((workspace / "pixi.toml").read_text())
    urls = [(workspace / name).as_uri() if name.startswith("./") else name for name in said["workspace"]["channels"]]
    specs = [f"{name} {spec}" for name, spec in said["dependencies"].items()]
    for name, spec in said.get("target", {}).get("linux-64", {}).get("dependencies", {}).items():
        specs.append(f"{name} {spec['version']} {spec['build']}")
    channels = [Channel(url) for url in urls]
    records = complete(solve(channels, specs, platforms=["linux-64", "noarch"]))
    return {record.name.normalized: f"{record.version} {record.build}" for record in records}


def test_a_workspace_asks_for_our_build_only_while_pinned(prefix: Path) -> None:
    workspace = prefix.parents[2]
    (prefix / RECEIPT).write_text('{"distribution": "pillow", "version": "12.1.1+simd.v3"}')
    before = tree_hash(workspace)
    assert _solved(workspace)["pillow"] == "13.0.0 py311h123_0"

    diff = _pin(prefix, _receipt(prefix))

    state = read_project_pin(prefix)
    assert state is not None
    assert (state.kind, state.file, state.problems) == ("pixi", workspace / "pixi.toml", ())
    assert _solved(workspace) == {"pillow": "12.1.1 simd_v3_py311_0", "frame": "1 0"}
    _apply(diff, prefix, "-R")
    assert tree_hash(workspace) == before


def test_a_channel_in_the_workspace_is_named_relative_to_it(prefix: Path) -> None:
    workspace = prefix.parents[2]
    _pin(prefix, _receipt(prefix), workspace / "build")
    assert tomllib.loads((workspace / "pixi.toml").read_text())["workspace"]["channels"][0].startswith("./build/")
    assert _solved(workspace)["pillow"] == "12.1.1 simd_v3_py311_0"


def test_a_wheel_is_nothing_to_pixi(prefix: Path) -> None:
    with pytest.raises(RefusedError, match="conda package"):
        _pin(prefix, _receipt(prefix, conda=None))


def test_the_workspaces_own_pillow_for_a_platform_blocks_a_pin(prefix: Path) -> None:
    workspace = prefix.parents[2]
    with (workspace / "pixi.toml").open("a") as manifest:
        manifest.write('\n[target.linux-64.dependencies]\npillow = "13.*"\n')
    before = tree_hash(workspace)

    with pytest.raises(RefusedError, match=r"already sets target\.linux-64\.dependencies\.pillow: 13\.\*"):
        _pin(prefix, _receipt(prefix))

    assert tree_hash(workspace) == before


def test_a_foreign_receipt_copies_nothing_else_into_the_project(prefix: Path) -> None:
    secrets = prefix.parents[3] / ".ssh"
    secrets.mkdir()
    (secrets / "id").write_text("secret")
    (prefix / "share/fastinstall/channel/linux-64/id").symlink_to(secrets / "id")
    _pin(prefix, _receipt(prefix, conda={"channel": str(secrets)}))
    copied = [path.name for path in (prefix.parents[3] / "kept").rglob("*") if path.is_file()]
    assert "repodata.json" in copied
    assert "id" not in copied
