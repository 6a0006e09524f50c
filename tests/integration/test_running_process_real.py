"""Real processes, seen through the real /proc: what they have mapped, and what was replaced under them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from support.elf.compiler import compile_library
from support.elf.core_per_level import Tree, small_tree
from support.environments.running_processes import living
from support.machine.needs import require_system

from fastinstall.core.errors import UndeterminedError
from fastinstall.observe.running_process import observe_process

ROOT = PurePosixPath("/")
OPEN = "import ctypes, sys; ctypes.CDLL({!r})"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A small PIL of two copies, to import and to change."""
    return small_tree(tmp_path / "a site")


def importing(tree: Tree) -> str:
    return f"import sys; sys.path.insert(0, {str(tree.site)!r}); import PIL.Image"


def test_what_a_process_has_mapped_is_what_it_says_itself(tree: Tree) -> None:
    variables = {"LD_LIBRARY_PATH": "/x", "GLIBC_TUNABLES": "glibc.malloc.check=0", "PATH": os.environ["PATH"]}
    with living(sys.executable, code=importing(tree), variables=variables) as process:
        seen = observe_process(process.pid)
        maps = Path(f"/proc/{process.pid}/maps").read_text()
    assert (seen.pid, seen.root, seen.replaced) == (process.pid, ROOT, ())
    assert (seen.executable, seen.command[:2]) == (Path(sys.executable), (sys.executable, "-c"))
    assert (seen.library_path, seen.preload, seen.tunables) == ("/x", "", "glibc.malloc.check=0")
    code = {line.split(None, 5)[5] for line in maps.splitlines() if " r-xp " in line and "/" in line}
    assert set(map(str, seen.mapped)) == code | {str(tree.stub)}
    assert len(set(seen.mapped)) == len(seen.mapped)


@pytest.mark.parametrize("how", ["deleted", "renamed over"])
def test_a_file_that_was_replaced_under_a_process_is_told(tmp_path: Path, how: str) -> None:
    library = compile_library(tmp_path / "libone.so", "int one(void) { return 1; }")
    other = Path(shutil.copy(library, tmp_path / "libother.so"))
    with living(sys.executable, code=OPEN.format(str(library))) as process:
        before = observe_process(process.pid)
        library.unlink() if how == "deleted" else other.replace(library)
        after = observe_process(process.pid)
    assert (library in before.mapped, before.replaced) == (True, ())
    assert (library in after.mapped, after.replaced) == (True, (library,))


def test_a_file_that_was_moved_aside_is_followed(tmp_path: Path) -> None:
    library = compile_library(tmp_path / "libone.so", "int one(void) { return 1; }")
    with living(sys.executable, code=OPEN.format(str(library))) as process:
        library.rename(tmp_path / "aside.so")
        seen = observe_process(process.pid)
    assert (tmp_path / "aside.so" in seen.mapped, seen.replaced) == (True, ())


def test_a_process_that_is_gone_is_an_error() -> None:
    with living(sys.executable, code="") as process:
        pass
    with pytest.raises(UndeterminedError, match=f"there is no process {process.pid}") as caught:
        observe_process(process.pid)
    assert caught.value.hint


def test_one_with_other_files_under_the_same_names_is_told_from_one_with_a_namespace_alone(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    allowed = unshare and subprocess.run((unshare, "-rm", "true"), capture_output=True, check=False).returncode == 0
    require_system(allowed, "the right to make namespaces")
    library = compile_library(tmp_path / "lib/libone.so", "int one(void) { return 1; }")
    shutil.copytree(library.parent, tmp_path / "other")
    bind = f'mount --bind {tmp_path}/other {tmp_path}/lib && exec {sys.executable} "$@"'
    with living(str(unshare), "-rm", sys.executable, code=OPEN.format(str(library))) as process:
        assert observe_process(process.pid).root == ROOT
    with living(str(unshare), "-rm", "sh", "-c", bind, "sh", code=OPEN.format(str(library))) as process:
        seen = observe_process(process.pid)
        assert seen.root == PurePosixPath(f"/proc/{process.pid}/root")
        assert (library in seen.mapped, seen.replaced) == (True, ())
