"""The Dockerfile of the page on images is executed line by line, on overlays of this machine, without an engine."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.docs.pages import ROOT
from support.images.built import Build, Probe, build_image, index_settings, skip_unless_overlays, wheelhouse
from support.sandbox import NewSandbox, Sandbox, run
from support.suite import extent

PAGE = ROOT / "docs/how-to/images.md"
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


@pytest.fixture(scope="module")
def sandbox(new_sandbox: NewSandbox) -> Iterator[Sandbox]:
    with new_sandbox() as made:
        skip_unless_overlays(made.root)
        yield made


def _write_page_file(sandbox: Sandbox, *changes: tuple[str, str]) -> Path:
    """Write the page's Dockerfile, with changes that the page describes."""
    text = PAGE.read_text(encoding="utf-8").partition("```dockerfile\n")[2].partition("```")[0]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = sandbox.root / "Dockerfile"
    file.write_text(text, encoding="utf-8")
    linted = run((HADOLINT, file), os.environ)
    assert linted.exit_code == 0, linted.text
    return file


def test_the_dockerfile_uses_a_wheelhouse_and_asks_no_index(sandbox: Sandbox) -> None:
    wheelhouse(sandbox)
    unreachable = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "XDG_CONFIG_DIRS": "/nonexistent"}
    settings = {
        **unreachable,
        "FASTINSTALL_RECIPE": "pillow",
        "FASTINSTALL_LEVEL": "x86-64-v2",
    }  # the wheel that tests have
    file = _write_page_file(sandbox)
    built = build_image(sandbox, Build(file=file, context=sandbox.root, environment=settings, probes=PROBES))
    _assert_right(built)
    assert Path(built["environment"]["UV_CONSTRAINT"]).name == "constraints.txt"


@pytest.mark.skipif(not extent.every_row, reason="takes minutes: --every-row")
def test_a_dockerfile_build_from_a_clone_drops_the_compiler(sandbox: Sandbox) -> None:
    fragment = PAGE.read_text(encoding="utf-8").partition("```text\nCOPY fastinstall")[2].partition("```")[0]
    file = _write_page_file(sandbox, ("COPY wheelhouse /wheelhouse\n", f"COPY fastinstall{fragment}"))
    cloned = run(("git", "clone", "--quiet", "--depth=1", ROOT.as_uri(), sandbox.root / "fastinstall"), os.environ)
    assert cloned.exit_code == 0, cloned.text
    build = Build(
        file=file,
        context=sandbox.root,
        environment={"HOME": "/root", "FASTINSTALL_CACHE_DIR": str(sandbox.cache), **index_settings()},
        kept=(sandbox.cache,),
        probes=PROBES,
    )
    _assert_right(build_image(sandbox, build))


def _assert_right(built: Any) -> None:
    used, who, compilers, kept, left, doctor = built["probes"]
    assert used["stdout"] == f"{PREFIX} (3, 3)\n", used
    assert who["stdout"] == built["user"].partition(":")[0] + "\n" != "0\n"
    assert compilers["stdout"] == ""
    assert "receipt.json" in kept["stdout"]
    assert "tx" not in kept["stdout"].split()
    assert left["stdout"] == ""
    assert doctor["exit_code"] == 0, doctor
