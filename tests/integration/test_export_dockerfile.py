"""A Dockerfile that was exported is executed line by line, on overlays of this machine, without a container engine."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import extent
import pytest
from images import Build, Probe, build_image, index_settings, skip_unless_overlays, wheelhouse
from interpreters import running
from sandbox import STOCK, NewSandbox, Sandbox, run

from fastinstall.fleet.tool_wheels import make_tool_wheel

HADOLINT = Path(sys.executable).with_name("hadolint")
PREFIX = "/opt/fast-env"
USED = "import sys; from PIL import Image; print(sys.prefix, Image.new('RGB', (9, 9)).resize((3, 3)).size)"
PROBES = (
    Probe(words=("python", "-c", USED)),
    Probe(words=("id", "-u")),
    Probe(words=("sh", "-c", "command -v cc gcc clang make ld")),
    Probe(words=("ls", f"{PREFIX}/share/fastinstall")),
    Probe(words=("ls", "/opt/fastinstall", "/wheelhouse")),
    Probe(
        words=(sys.executable, "-m", "fastinstall", "doctor", "--fail-on", "warning", "--json", "--prefix", PREFIX),
        user="0",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What images are built from.

    Attributes:
        sandbox: where.
        wheelhouse: with the stack's wheel, and the tool.
    """

    sandbox: Sandbox
    wheelhouse: Path


@pytest.fixture(scope="module")
def ground(new_sandbox: NewSandbox) -> Iterator[Ground]:
    with new_sandbox() as sandbox:
        skip_unless_overlays(sandbox.root)
        yield Ground(sandbox=sandbox, wheelhouse=wheelhouse(sandbox))


@pytest.mark.skipif(not extent.every_row, reason="takes minutes: --every-row")
def test_the_file_compiles_and_leaves_the_compiler_behind(ground: Ground) -> None:
    file = _exported(ground.sandbox, "--with-system-deps")
    wheel = make_tool_wheel(ground.sandbox.cache, ground.sandbox.variables())
    build = Build(
        file=file,
        context=ground.sandbox.root,
        arguments={"FASTINSTALL": f"fastinstall @ {wheel.as_uri()}"},
        environment={"FASTINSTALL_CACHE_DIR": str(ground.sandbox.cache), **index_settings()},
        kept=(ground.sandbox.cache,),
        with_compilers=("builder",),
        probes=PROBES,
    )
    _assert_right(build_image(ground.sandbox, build))


def test_the_file_takes_the_wheel_and_the_tool_from_a_wheelhouse_without_a_compiler(ground: Ground) -> None:
    file = _exported(ground.sandbox, "--wheelhouse", ground.wheelhouse, "--pin")
    unreachable = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "XDG_CONFIG_DIRS": "/nonexistent"}
    build = Build(file=file, context=ground.sandbox.root, environment=unreachable, probes=PROBES)
    built = build_image(ground.sandbox, build)
    _assert_right(built)
    assert Path(built["environment"]["UV_CONSTRAINT"]).name == "constraints.txt"


def _exported(sandbox: Sandbox, *words: str | Path) -> Path:
    file = sandbox.root / "Dockerfile"
    version = "python" + str(running())
    made = sandbox.cli("plan", "--format", "dockerfile", "--python", version, *STOCK, *words, "-o", file)
    assert made.exit_code == 0, made.text
    linted = run((HADOLINT, file), os.environ)
    assert linted.exit_code == 0, linted.text
    return file


def _assert_right(built: Any) -> None:
    used, who, compilers, kept, left, doctor = built["probes"]
    assert used["stdout"] == f"{PREFIX} (3, 3)\n", used
    assert who["stdout"] == built["user"].partition(":")[0] + "\n" != "0\n"
    assert compilers["stdout"] == ""
    assert "receipt.json" in kept["stdout"]
    assert "tx" not in kept["stdout"].split()
    assert left["stdout"] == ""
    assert doctor["exit_code"] == 0, doctor
    assert built["labels"]["org.opencontainers.image.title"].startswith("pillow ")
