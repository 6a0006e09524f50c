"""Build requirements are downloaded by a real pip before the build, which then needs no network."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.build.tiny_pillow import tiny_request, tiny_sdist

from fastinstall.core.errors import FailedError
from fastinstall.core.events import Event, Noted
from fastinstall.core.process import CommandError, run
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.compile import call_backend
from fastinstall.wheelbuild.requirements import fetch_requirements, install_requirements
from fastinstall.wheelbuild.wheel_files import pack_wheel

PYPROJECT = '[build-system]\nrequires = ["tiny-tool>=1"]\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """
import os, tiny_tool
def build_wheel(directory, config_settings=None, metadata_directory=None):
    return tiny_tool.build(directory)
"""
TOOL = """
import os, zipfile
def build(directory):
    name = "product-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as archive:
        archive.writestr("product-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: product\\nVersion: 1\\n")
        wheel = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        archive.writestr("product-1.dist-info/WHEEL", wheel)
        archive.writestr("product-1.dist-info/RECORD", "")
    return name
"""
NOWHERE = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}


def tool_wheel(directory: Path, version: str) -> Path:
    """Return a wheel of the build tool "tiny-tool"."""
    tree = directory / f"tree-{version}"
    metadata = tree / f"tiny_tool-{version}.dist-info"
    metadata.mkdir(parents=True)
    (tree / "tiny_tool.py").write_text(TOOL)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tiny-tool\nVersion: {version}\n")
    (metadata / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheelhouse = directory / "wheelhouse"
    wheelhouse.mkdir(exist_ok=True)
    wheel = wheelhouse / f"tiny_tool-{version}-py3-none-any.whl"
    pack_wheel(tree, wheel)
    return wheel


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "backend.py").write_text(BACKEND)
    return source


def request_for(directory: Path, **changes: Any) -> BuildRequest:
    """Return a request whose pip has no index."""
    variables = {**os.environ, **NOWHERE}
    return tiny_request(directory, tiny_sdist(directory), **{"variables": variables, **changes})


def test_they_come_from_the_wheelhouse(tmp_path: Path, source: Path) -> None:
    wheel = tool_wheel(tmp_path, "1.0")
    found = fetch_requirements(request_for(tmp_path, wheelhouse=wheel.parent), source)
    assert [(path.name, path.read_bytes()) for path in found] == [(wheel.name, wheel.read_bytes())]


def call_on(source: Path, tmp_path: Path, request: BuildRequest) -> None:
    """Install the build requirements, and let the backend build a wheel of the source."""
    installed = tmp_path / "installed"
    install_requirements(fetch_requirements(request, source), request.interpreter, installed)

    def start(argv: Sequence[str], directory: Path, variables: Mapping[str, str]) -> None:
        run(argv, directory=directory, environment={"PATH": os.defpath, **variables})

    call_backend(
        source=source,
        requirements=installed,
        python=sys.executable,
        settings={},
        output=tmp_path / "built",
        variables={"PATH": os.defpath},
        run=start,
    )


def test_a_backend_sees_its_requirements_and_nothing_installed(tmp_path: Path, source: Path) -> None:
    (source / "backend.py").write_text(
        f"import importlib.util\nassert importlib.util.find_spec('pytest') is None\n{BACKEND}"
    )
    request = request_for(tmp_path, wheelhouse=tool_wheel(tmp_path, "1.0").parent)
    call_on(source, tmp_path, request)
    assert [path.name for path in (tmp_path / "built").iterdir()] == ["product-1-py3-none-any.whl"]


def test_a_backend_that_is_not_there_is_named(tmp_path: Path, source: Path) -> None:
    (source / "pyproject.toml").write_text(PYPROJECT.replace('"backend"', '"nowhere"'))
    request = request_for(tmp_path, wheelhouse=tool_wheel(tmp_path, "1.0").parent)
    with pytest.raises(FailedError, match="backend nowhere"):
        call_on(source, tmp_path, request)


def test_a_backend_that_fails_tells_what_it_said(tmp_path: Path, source: Path) -> None:
    (source / "backend.py").write_text("def build_wheel(*words):\n    raise SystemError('no fuel')\n")
    request = request_for(tmp_path, wheelhouse=tool_wheel(tmp_path, "1.0").parent)
    with pytest.raises(CommandError) as caught:
        call_on(source, tmp_path, request)
    assert "no fuel" in caught.value.completed.stderr


def test_a_damaged_requirement_is_named(tmp_path: Path, source: Path) -> None:
    request = request_for(tmp_path, wheelhouse=tool_wheel(tmp_path, "1.0").parent)
    found = fetch_requirements(request, source)
    found[0].write_bytes(b"no wheel")
    with pytest.raises(FailedError, match=r"tiny_tool-1\.0-py3-none-any\.whl: damaged"):
        install_requirements(found, request.interpreter, tmp_path / "installed")


def request_from_index(directory: Path, wheel: Path, **changes: Any) -> BuildRequest:
    """Return a request whose pip searches the directory of the wheel."""
    variables = {**os.environ, **NOWHERE, "PIP_FIND_LINKS": str(wheel.parent)}
    return request_for(directory, **{"variables": variables, "offline": False, **changes})


def test_what_a_wheelhouse_gave_serves_no_other_run(tmp_path: Path, source: Path) -> None:
    fetch_requirements(request_for(tmp_path, wheelhouse=tool_wheel(tmp_path, "1.0").parent), source)
    with pytest.raises(FailedError, match="the build requires tiny-tool>=1"):
        fetch_requirements(request_for(tmp_path), source)


def test_what_other_indexes_gave_does_not_serve(tmp_path: Path, source: Path) -> None:
    request = request_from_index(tmp_path, tool_wheel(tmp_path, "1.0"))
    fetch_requirements(request, source)
    with pytest.raises(FailedError, match="the build requires tiny-tool>=1"):
        fetch_requirements(request_for(tmp_path, indexes=("https://other.example/simple",)), source)


def test_within_their_lifetime_nothing_is_asked_again(tmp_path: Path, source: Path) -> None:
    request = request_from_index(tmp_path, tool_wheel(tmp_path, "1.0"))
    first = fetch_requirements(request, source)
    tool_wheel(tmp_path, "2.0")
    assert fetch_requirements(replace(request, pip=("/nonexistent/pip",)), source) == first


def test_after_it_the_newest_is_fetched(tmp_path: Path, source: Path) -> None:
    request = request_from_index(tmp_path, tool_wheel(tmp_path, "1.0"))
    first = fetch_requirements(request, source)
    tool_wheel(tmp_path, "2.0")
    grow_old(request)
    assert [path.name for path in fetch_requirements(request, source)] == ["tiny_tool-2.0-py3-none-any.whl"]
    assert first[0].is_file(), "a build that still runs lost its requirements"


def test_offline_what_was_fetched_serves_at_any_age(tmp_path: Path, source: Path) -> None:
    request = request_from_index(tmp_path, tool_wheel(tmp_path, "1.0"))
    first = fetch_requirements(request, source)
    grow_old(request)
    assert fetch_requirements(replace(request, offline=True), source) == first


def test_an_unreachable_index_falls_back_to_the_cache_and_warns(tmp_path: Path, source: Path) -> None:
    events: list[Event] = []
    request = request_from_index(tmp_path, tool_wheel(tmp_path, "1.0"), emit=events.append)
    first = fetch_requirements(request, source)
    grow_old(request)
    unreached = {**request.variables, **NOWHERE}
    assert fetch_requirements(replace(request, variables=unreached), source) == first
    assert [event.message for event in events if isinstance(event, Noted) and event.warning]


def test_a_damaged_wheel_is_fetched_again(tmp_path: Path, source: Path) -> None:
    request = request_for(tmp_path, wheelhouse=tool_wheel(tmp_path, "1.0").parent)
    first = fetch_requirements(request, source)
    whole = first[0].read_bytes()
    first[0].write_bytes(b"damaged")
    assert fetch_requirements(request, source) == first
    assert first[0].read_bytes() == whole


@pytest.mark.parametrize("offline", [True, False])
def test_an_unavailable_requirement_fails_with_a_helpful_command(
    tmp_path: Path, source: Path, *, offline: bool
) -> None:
    with pytest.raises(FailedError, match="the build requires tiny-tool>=1") as caught:
        fetch_requirements(request_for(tmp_path, offline=offline), source)
    assert caught.value.hint is not None
    command = caught.value.hint.partition(": ")[2]
    assert command.startswith(f"{sys.executable} -m pip download ")
    assert "'tiny-tool>=1'" in command


def grow_old(request: BuildRequest) -> None:
    """Make the cached requirements 31 days old."""
    for latest in (request.cache / "requirements").glob("*/latest.json"):
        then = time.time() - 31 * 24 * 3600
        os.utime(latest, (then, then))
