"""setup on a machine that has neither compiler, linker nor archiver, nor a header of C, Python or a library."""

import os
import shutil
import subprocess
import sys

import pytest
from needs import require_system
from sandbox import Sandbox, run

HIDE = """
set -e
for directory in /usr/include /usr/lib/gcc "$HEADERS"; do
    [ ! -d "$directory" ] || mount -t tmpfs none "$directory"
done
for name in cc gcc clang c89 c99 as ld ar x86_64-linux-gnu-gcc; do
    for file in /usr/bin/$name /usr/local/bin/$name; do
        [ ! -e "$file" ] || mount --bind /dev/null "$(readlink -f "$file")"
    done
done
! cc --version 2>/dev/null
mount -o remount,bind,ro /usr 2>/dev/null || true
exec "$@"
"""
"""Over what is there, in a mount namespace of its own: this machine stays as it is."""


@pytest.mark.slow
def test_whoever_has_no_compiler_and_no_headers_gets_the_fast_stack(sandbox: Sandbox) -> None:
    require_system(shutil.which("apt-get"), "apt, which brings headers")
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    namespace = ("unshare", "--mount", *user)
    allowed = subprocess.run((*namespace, "true"), capture_output=True, check=False).returncode == 0
    require_system(allowed, "mount namespaces (unshare(2))")
    prefix = sandbox.root / "fast-env"
    headers = f"{sys.base_prefix}/include/python{sys.version_info.major}.{sys.version_info.minor}"
    cache = sandbox.cache_without("wheels", "statics", "toolchains")
    variables = {**sandbox.variables({"FASTINSTALL_CACHE_DIR": str(cache)}), "HEADERS": headers, "CC": ""}
    words = (sys.executable, "-m", "fastinstall", "setup", "--yes", "-v", "--new-env", prefix, "--level", "x86-64-v2")
    answer = run((*namespace, "sh", "-c", HIDE, "sh", *words), variables, directory=sandbox.root)
    assert answer.exit_code == 0, answer.text
    assert "compiled with clang from ziglang" in answer.text
    assert sandbox.cli("doctor", "--prefix", prefix).exit_code == 0
