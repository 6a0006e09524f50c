"""Compares the model of the loader with the real loader: random forests, another root directory, and another CPU."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.elf.compiler import compile_library, runpath
from support.elf.core_per_level import LOADER_REFUSAL
from support.machine.needs import require_system

from differential.check_forests import Processor, compare_forest, emulated, this_machine
from differential.forest_parts import Parts, interpreter, link, make_parts
from fastinstall.elf.loader.process_settings import ProcessSettings, usable_hwcaps
from fastinstall.elf.loader.simulation import start_process

FORESTS, CASES = 12, 21
"""`PYTHONPATH=tests python -m differential.check_forests 0 2000` compares more."""

MAKERS = {"GenuineIntel": (b"Genu", b"ntel", b"ineI"), "AuthenticAMD": (b"Auth", b"cAMD", b"enti")}
"""CPU vendors as the loader compares them: the three words that CPUID returns, in its order."""

CHROOT = "/usr/sbin/chroot"


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return make_parts(tmp_path_factory.mktemp("parts"))


@pytest.mark.parametrize("first", range(0, FORESTS, 4))
def test_random_forests(tmp_path: Path, parts: Parts, first: int) -> None:
    assert not _different(tmp_path, parts, range(first, first + 4), (this_machine(), *emulated()))


def _different(base: Path, parts: Parts, seeds: range, processors: tuple[Processor, ...]) -> list[str]:
    compared = [
        (f"seed {seed}: {case}\n{difference}", difference)
        for seed in seeds
        for case, difference in compare_forest(base / f"forest{seed}", parts, seed, cases=CASES, processors=processors)
    ]
    assert len(compared) == len(seeds) * CASES
    return [text for text, difference in compared if difference]


def test_random_forests_on_a_cpu_of_another_maker(tmp_path: Path) -> None:
    """Only on Intel CPUs does the loader search directories named after AVX-512, and qemu has no AVX-512.

    So the programs run on this machine's own CPU, with a loader in which the names of the vendors are swapped.
    """
    here = this_machine()
    loader = tmp_path / "ld-linux-x86-64.so.2"
    if here.cpu.vendor not in MAKERS or not _exchange_makers(Path(interpreter()), loader):
        pytest.skip(f"a CPU of {here.cpu.vendor}, or a loader that does not ask for its maker as expected")
    (tmp_path / "parts").mkdir()
    parts = make_parts(tmp_path / "parts", str(loader))
    other = next(maker for maker in MAKERS if maker != here.cpu.vendor)
    assert not _different(tmp_path, parts, range(100, 103), (replace(here, cpu=replace(here.cpu, vendor=other)),))


def _exchange_makers(source: Path, target: Path) -> bool:
    """Copy a loader and swap the CPU vendors in its code; return False if they are not where expected."""
    content = bytearray(source.read_bytes())
    patterns = [(re.compile(rb".{8}".join(map(re.escape, words)), re.DOTALL), words) for words in MAKERS.values()]
    found = [(list(pattern.finditer(content)), words) for pattern, words in patterns]
    if any(len(places) != 1 for places, _ in found):
        return False
    for (places, _), (_, words) in zip(found, reversed(found), strict=True):
        for number, word in enumerate(words):
            at = places[0].start() + 12 * number
            content[at : at + 4] = word
    target.write_bytes(content)
    target.chmod(0o755)
    return True


@pytest.fixture(scope="module")
def as_root() -> tuple[str, ...]:
    """Return the first words of a command that may change the root directory, or skip the test."""
    begin = () if os.geteuid() == 0 else ("unshare", "--map-root-user")
    try:
        allowed = subprocess.run([*begin, CHROOT, "/", "/bin/true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    require_system(allowed, "the right to change the root directory")
    return begin


def test_another_root_with_links_in_it_and_a_cache_of_its_own(
    tmp_path: Path, parts: Parts, as_root: tuple[str, ...]
) -> None:
    """Inside the other root, the search paths lead to other files than outside."""
    root = make_root(tmp_path / "root", parts)
    subprocess.run([*as_root, "/sbin/ldconfig", "-r", root], check=True)
    opened = ("pl/opt/app/core.so", "pllibcached.so")
    command: list[str | Path] = [*as_root, CHROOT, root, "/bin/host", *opened]
    truth = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    process = start_process(ProcessSettings(program=Path("/bin/host"), root=root))
    assert not process.problem
    assert all(process.open(how[2:], caller=process.main).file for how in opened)
    names = [line[4:] for line in truth.splitlines() if line.startswith("MAP ") and "vdso" not in line]
    assert [file.path for file in process.files[1:]] == names[1:]
    reasons = {file.path.name: file.reason for file in process.loaded_files()}
    assert reasons["libcached.so"] == "ld.so.cache"
    assert reasons["libnear.so"] == "DT_RUNPATH of /opt/app/core.so"
    assert all(file.place.is_relative_to(root) for file in process.files)


def make_root(root: Path, parts: Parts) -> Path:
    """Create a root directory with a C library and its loader, a program, and libraries behind links."""
    for name in ("bin", "etc", "usr/lib64", "srv/libs", "srv/near", "opt/app"):
        (root / name).mkdir(parents=True)
    (root / "lib64").symlink_to("usr/lib64")
    (root / "opt" / "app" / "libs").symlink_to("../../srv/near")
    loader = Path(interpreter())
    libc = Path(parts.libc[-1]).with_name("libc.so.6")
    for source in (
        loader,
        next(path for path in (libc, Path("/lib64/libc.so.6"), Path("/lib/libc.so.6")) if path.exists()),
    ):
        shutil.copy(source, root / "usr" / "lib64" / source.name)
    near = compile_library(root / "srv" / "near" / "libnear.so")
    compile_library(root / "opt" / "app" / "core.so", needs=(near,), flags=runpath("/opt/app/libs"))
    compile_library(root / "srv" / "libs" / "libcached.so")
    link("-shared", "-o", root / "usr/lib64/libopener.so", "-soname", "libopener.so", parts.directory / "opener.o")
    start, begin, end, _ = parts.libc
    arguments = ("-pie", "-dynamic-linker", str(loader), "-o", root / "bin/host", start, begin)
    link(*arguments, parts.directory / "host.o", root / "usr/lib64/libopener.so", root / "usr/lib64/libc.so.6", end)
    (root / "etc" / "ld.so.conf").write_text("/srv/libs\n/usr/lib64\n")
    return root


def _libc() -> Path:
    """Return the path of this interpreter's C library."""
    process = start_process(ProcessSettings(program=Path(sys.executable)))
    return next(file.place for file in process.files if file.path.endswith("/libc.so.6"))


def test_a_file_above_the_level_of_the_cpu_is_refused(tmp_path: Path, parts: Parts) -> None:
    emulator = shutil.which("qemu-x86_64")
    require_system(emulator, "qemu-x86_64")
    core = compile_library(tmp_path / "core.so", flags=("-Wl,-z,x86-64-v3",))
    host = tmp_path / "host"
    link("-shared", "-o", tmp_path / "libopener.so", parts.directory / "opener.o")
    start, begin, end, libc = parts.libc
    arguments = ("-pie", "-dynamic-linker", interpreter(), "-rpath", "$ORIGIN", "-o", host, start, begin)
    link(*arguments, parts.directory / "host.o", tmp_path / "libopener.so", libc, end)
    for model, level in (("Nehalem", "x86-64-v2"), ("Haswell", "x86-64-v3")):
        command: list[str | Path] = [str(emulator), "-cpu", model, host, f"pl{core}"]
        truth = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        process = start_process(ProcessSettings(program=host, hwcaps=usable_hwcaps(level)))
        opened = process.open(core)
        assert (LOADER_REFUSAL in truth) == (opened.file is None)
        assert (opened.file is None) == (level == "x86-64-v2")
    assert "x86-64-v3" in start_process(ProcessSettings(program=host, level="x86-64-v2")).open(core).missing[0].problem
