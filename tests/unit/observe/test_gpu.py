"""GPUs and drivers of captured machines (tests/cases/gpus).

No real GPU was available: the drivers' texts come from public sources, which each file names, and the layouts follow
documentation. Each case has the files and links of a machine, by path, and the expected result; null means no GPU.
"""

import json
from dataclasses import fields
from pathlib import Path, PurePath
from typing import Any

import pytest

from fastinstall.core.codec import encode
from fastinstall.model.machine import Gpu
from fastinstall.observe.gpu import join_gpu_facts, observe_hardware

MACHINES = sorted((Path(__file__).parents[2] / "cases" / "gpus").glob("*.json"))


def laid_out(machine: dict[str, Any], root: Path) -> None:
    for name, text in machine["files"].items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name, target in machine["links"].items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)


def seen(machine: dict[str, Any], root: Path) -> Gpu:
    laid_out(machine, root)
    return observe_hardware(nvml=False, root=root, library_path=machine.get("library_path", ""))


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_a_captured_machine_is_seen_as_it_is(path: Path, tmp_path: Path) -> None:
    machine = json.loads(path.read_text("utf-8"))
    gpu = seen(machine, tmp_path)
    expected = machine["gpu"]
    if expected is None:
        assert not gpu.present
        assert join_gpu_facts(gpu, ()) is None
        return
    told = encode(gpu)
    assert gpu.present
    for name, value in expected.items():
        assert _comparable(name, told[name], tmp_path) == value, name


def _comparable(name: str, value: Any, root: Path) -> Any:
    if name == "libcuda" and value is not None:
        return str(PurePath(value).relative_to(root))
    if name == "devices":
        return [{"name": device["name"]} for device in value]
    return value


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_no_identifier_of_a_device_is_kept(path: Path, tmp_path: Path) -> None:
    machine = json.loads(path.read_text("utf-8"))
    assert "GPU-0123" not in str(seen(machine, tmp_path))


def test_a_machine_without_gpu_leaves_every_field_as_it_is(tmp_path: Path) -> None:
    gpu = observe_hardware(nvml=True, root=tmp_path)
    assert all(getattr(gpu, field.name) == getattr(Gpu(), field.name) for field in fields(Gpu))
