"""What bench finds in the cache without a network, and what it reports if time runs out."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.values.builders import healthy_facts

from fastinstall.index import downloads
from fastinstall.model.artefact import Artefact
from fastinstall.verbs import measure_loading
from fastinstall.verbs.measure_loading import find_cached_build
from fastinstall.wheelbuild.wheel_cache import store_wheel

INTERPRETER = healthy_facts().interpreter
TAG = f"{INTERPRETER.abi}-{INTERPRETER.abi}-manylinux_2_27_x86_64"
INPUTS = {"recipe": "pillow-fast", "link": "bundle", "python": "cpython 3.11 cp311"}
PLACES = ("https://index.example/simple",)


def _write(text: str, path: Path) -> None:
    path.write_text(text)


def built(cache: Path, version: str, index: str = PLACES[0], **changes: str) -> None:
    """Put a build and its source into the cache; `changes` are inputs of the build."""
    filename = f"pillow-{version.partition('+')[0]}.tar.gz"
    artefact = Artefact(name="pillow", version="1", filename=filename, url="https://a", sha256="", index=index)
    source = downloads.store_download(cache, artefact, partial(_write, filename + index)).parent.name
    wheel = cache / f"pillow-{version}-{TAG}.whl"
    wheel.write_text(version)
    store_wheel(cache, {**INPUTS, "distribution": f"pillow {version}", "source": source, **changes}, wheel, {})


def test_the_newest_build_with_most_levels_is_found(tmp_path: Path) -> None:
    assert find_cached_build(tmp_path, INTERPRETER, PLACES) is None
    built(tmp_path, "9.9.0+simd.v2.v3")
    built(tmp_path, "12.1.1+simd.v3")
    built(tmp_path, "12.1.1+simd.v2.v3")
    built(tmp_path, "13.0.0+opt.v2", recipe="pillow")
    built(tmp_path, "13.0.0+simd.v2", python="cpython 3.13 cp313")
    built(tmp_path, "13.0.0+simd.v3", link="env")
    built(tmp_path, "13.0.0+simd.v2.v3", index="")
    found = find_cached_build(tmp_path, INTERPRETER, PLACES)
    assert found is not None
    assert found.name == f"pillow-12.1.1+simd.v2.v3-{TAG}.whl"


def test_a_damaged_entry_is_no_build(tmp_path: Path) -> None:
    built(tmp_path, "12.1.1+simd.v3")
    (result,) = tmp_path.glob("wheels/*/result.json")
    result.write_text("{")
    assert find_cached_build(tmp_path, INTERPRETER, PLACES) is None


def test_the_command_for_the_rest_names_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    remarks: list[str] = []
    context = SimpleNamespace(
        request=SimpleNamespace(quick=True),
        environment=SimpleNamespace(prefix=Path("/srv/env")),
        left=lambda: 0.0,
        remark=remarks.append,
    )
    monkeypatch.setattr(measure_loading, "_measure_workload", lambda *_: None)
    assert len(list(measure_loading._measure_workloads(context, ("jpeg", "png"), ()))) == 1  # type: ignore[arg-type]
    assert remarks[0].endswith("fastinstall bench --quick --workload png --prefix /srv/env")
