"""Images that tests build from Dockerfiles; what they are built with is fetched once."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.environments.interpreters import running
from support.made_once import key_of, made_once
from support.sandbox import STOCK, Sandbox, run

from fastinstall.fleet.tool_wheels import make_tool_wheel

BASE = "the-machine-itself"
_PASSED = ("PIP_", "SSL_", "REQUESTS_", "CURL_")
_BUILDER = Path(__file__).with_name("builder.py")
_TRIED = """
mkdir -p t && mount -t tmpfs t t && mkdir t/a t/b t/c && mount -t overlay o -o lowerdir=/,upperdir=t/a,workdir=t/b t/c
"""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A command in what was built; as root where `user` says "0"."""

    words: Sequence[str]
    user: str | None = None


@dataclass(frozen=True, kw_only=True)
class Build:
    """What is built.

    Attributes:
        file: the Dockerfile.
        context: where COPY copies from.
        arguments: `--build-arg`.
        environment: of the base image, besides PATH; `index_settings` leads pip to the index.
        kept: directories of the machine that the base image has, writable.
        with_compilers: names of stages whose base image has a compiler.
        probes: run in the last stage.
    """

    file: Path
    context: Path
    arguments: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    kept: Sequence[Path] = ()
    with_compilers: Sequence[str] = ()
    probes: Sequence[Probe] = ()


def skip_unless_overlays(directory: Path) -> None:
    """Skip where this machine forbids what stands for a container engine."""
    words = ("unshare", "--mount", "--pid", "--fork", "--propagation", "private", "sh", "-c", _TRIED)
    tried = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no overlay filesystem in a mount namespace here (root is needed): {tried.stderr.strip()}")


def build_image(sandbox: Sandbox, build: Build) -> Any:
    """Build it, and what its probes said."""
    space = sandbox.root / "image"
    space.mkdir(exist_ok=True)
    python = running().executable
    there = (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[3])
    kept = {**{str(path.resolve()): False for path in there}, **{str(path.resolve()): True for path in build.kept}}
    specification = {
        "file": str(build.file),
        "context": str(build.context),
        "space": str(space),
        "base": BASE,
        "arguments": {"PYTHON_IMAGE": BASE, **build.arguments},
        "environment": {"PATH": f"{python.parent}:/usr/sbin:/usr/bin:/sbin:/bin", **build.environment},
        "kept": kept,
        "with_compilers": list(build.with_compilers),
        "probes": [{"words": list(probe.words), "user": probe.user} for probe in build.probes],
    }
    argv = ("unshare", "--mount", "--propagation", "private", sys.executable, str(_BUILDER))
    variables = {**os.environ, "PYTHONPATH": str(_BUILDER.parents[2])}
    words = json.dumps(specification)
    done = subprocess.run(argv, input=words, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "failed" not in answer, f"RUN {answer['failed']}\n{answer['stdout']}{answer['stderr']}"
    return answer


def wheelhouse(sandbox: Sandbox) -> Path:
    """A copy in the sandbox of what `build -o wheelhouse --with-tool` leaves, with the tool for this Python alone."""
    own = make_tool_wheel(sandbox.cache, sandbox.variables())

    def make(directory: Path) -> None:
        built = sandbox.cli("build", "--quiet", "-o", directory, "--python", running().executable, *STOCK)
        assert built.exit_code == 0, built.text
        words = (sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:")
        brought = run((*words, "--dest", directory / "tool", own), sandbox.variables())
        assert brought.exit_code == 0, brought.text

    made = made_once(sandbox.cache / "testbed" / f"images-{key_of(own)}", make)
    return shutil.copytree(made, sandbox.root / "wheelhouse")


def index_settings() -> dict[str, str]:
    """What leads to the package index of whoever runs the tests."""
    ends = ("_proxy", "_PROXY")
    return {name: value for name, value in os.environ.items() if name.startswith(_PASSED) or name.endswith(ends)}
