"""Wheels that pip and uv build and cache: as our pages say, some changed settings and flags cause no new build."""

import io
import tarfile

import pytest
from support.environments.interpreters import running
from support.index.server import content_answer, serving
from support.sandbox import UV, Sandbox, run

PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "tiny"
version = "1.0"
"""
BACKEND = """
import os, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name, settings = "tiny-1.0-py3-none-any.whl", dict(config_settings or {})
    files = {
        "tiny.txt": f"{settings['level']} {os.environ['CFLAGS']}",
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n",
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    files["tiny-1.0.dist-info/RECORD"] = "".join(f"{path},,\\n" for path in (*files, "tiny-1.0.dist-info/RECORD"))
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name
"""
SDIST = "tiny-1.0.tar.gz"
TRIES = (("2", "-O2"), ("3", "-O2"), ("2", "-O3"))
"""Values of `-C level` and of CFLAGS."""


@pytest.mark.parametrize(
    ("tool", "builds"), [("pip", ("2 -O2", "2 -O2", "2 -O2")), ("uv", ("2 -O2", "3 -O2", "2 -O2"))]
)
def test_a_cache_looks_at_settings_for_uv_and_at_no_flags(tool: str, builds: tuple[str, ...], sandbox: Sandbox) -> None:
    environment = sandbox.venv(running())
    caches = {"PIP_CACHE_DIR": str(sandbox.root / "pip"), "UV_CACHE_DIR": str(sandbox.root / "uv")}
    commands = {
        "pip": (environment.python, "-m", "pip"),
        "uv": (UV, "--no-config", "pip"),
    }
    target, confirmed = (("--python", environment.python), ()) if tool == "uv" else ((), ("--yes",))
    source, found = sdist(), []
    with serving() as index:
        index.offer("tiny", {SDIST: source})
        kept = content_answer(source, "application/octet-stream", Cache_Control="max-age=31536000, immutable")
        index.answers[f"/files/{SDIST}"] = kept  # with the headers with which PyPI serves files
        for level, flags in TRIES:
            variables = {**sandbox.variables({"CFLAGS": flags, "PIP_CONFIG_FILE": "/dev/null"}), **caches}
            words = (*target, "--index-url", index.url, "--config-settings", f"level={level}", "tiny")
            installed = run((*commands[tool], "install", *words), variables)
            assert installed.exit_code == 0, installed.text
            found.append((environment.site_packages / "tiny.txt").read_text())
            run((*commands[tool], "uninstall", *confirmed, *target, "tiny"), variables)
    assert tuple(found) == builds


def sdist() -> bytes:
    """Return an sdist whose build backend records its settings and flags."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        metadata = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
        for name, text in (("pyproject.toml", PROJECT), ("backend.py", BACKEND), ("PKG-INFO", metadata)):
            member = tarfile.TarInfo(f"tiny-1.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return stream.getvalue()
