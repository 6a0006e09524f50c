"""setup on a machine without compiler, linker, archiver, apt, or the headers of C, Python and the libraries."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.machine.needs import require_system
from support.sandbox import Result, Sandbox, run

from fastinstall.index.header_packages import read_header_packages

HIDE = """
set -e
for directory in /usr/include /usr/lib/gcc "$HEADERS"; do
    [ ! -d "$directory" ] || mount -t tmpfs none "$directory"
done
for name in cc gcc clang c89 c99 as ld ar x86_64-linux-gnu-gcc apt-get apt-cache apt dpkg dpkg-deb dnf; do
    for file in /usr/bin/$name /usr/local/bin/$name; do
        [ ! -e "$file" ] || mount --bind /dev/null "$(readlink -f "$file")"
    done
done
! cc --version 2>/dev/null
mount -o remount,bind,ro /usr 2>/dev/null || true
mount -t tmpfs -o ro none /dev/shm
[ -z "$HOSTS" ] || mount --bind "$HOSTS" /etc/hosts
exec "$@"
"""
"""Runs a command after hiding compilers, headers and package managers by mounts, in a mount namespace of its own."""

ODD = "a b'ü"
"""A name that a shell, a makefile and Pillow's setup.py would each misread."""


@pytest.fixture
def namespace() -> tuple[str, ...]:
    """Return a command prefix that runs a command in a new mount namespace; skip the test if that is impossible."""
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    words = ("unshare", "--mount", *user)
    allowed = subprocess.run((*words, "true"), capture_output=True, check=False).returncode == 0
    require_system(allowed, "mount namespaces (unshare(2))")
    return words


def _setup(sandbox: Sandbox, namespace: tuple[str, ...], cache: Path, hosts: Path | None = None) -> Result:
    headers = f"{sys.base_prefix}/include/python{sys.version_info.major}.{sys.version_info.minor}"
    hidden = {"HEADERS": headers, "HOSTS": str(hosts or ""), "CC": ""}
    variables = {**sandbox.variables({"FASTINSTALL_CACHE_DIR": str(cache)}), **hidden}
    words = (
        "-m",
        "fastinstall",
        "setup",
        "--yes",
        "-v",
        "--new-env",
        sandbox.root / ODD / "env",
        "--level",
        "x86-64-v2",
    )
    return run((*namespace, "sh", "-c", HIDE, "sh", sys.executable, *words), variables, directory=sandbox.root)


def _list_files(directory: Path) -> Iterator[Path]:
    return (path for path in directory.rglob("*") if path.is_file())


@pytest.mark.slow
def test_nothing_of_the_system_is_needed_and_any_path_will_do(sandbox: Sandbox, namespace: tuple[str, ...]) -> None:
    cache = sandbox.cache_without("wheels", "statics", "toolchains", "headers")
    cache = cache.rename(sandbox.root / f"cache {ODD}")

    answer = _setup(sandbox, namespace, cache)

    assert answer.exit_code == 0, answer.text
    assert "compiled with clang from ziglang" in answer.text
    assert "shm is not writable" in answer.text
    assert sandbox.cli("doctor", "--prefix", sandbox.root / ODD / "env").exit_code == 0


@pytest.mark.slow
def test_with_only_an_index_the_remedy_precedes_any_download(
    sandbox: Sandbox, namespace: tuple[str, ...], tmp_path: Path
) -> None:
    hosts, cache = tmp_path / "hosts", sandbox.cache_without("downloads", "wheels", "headers")
    archives = (address for addresses in read_header_packages().archives.values() for address in addresses)
    names = "".join(f"127.0.0.1 {address.split('/')[2]}\n" for address in archives)
    hosts.write_text(f"{Path('/etc/hosts').read_text()}\n{names}")

    answer = _setup(sandbox, namespace, cache, hosts)

    assert answer.exit_code == 6, answer.text
    assert "libtiff-dev" in answer.text
    assert "fastinstall build -o DIR" in answer.text
    assert not list(_list_files(cache / "downloads"))
    assert not (sandbox.root / ODD / "env").exists()
