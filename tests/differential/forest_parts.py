"""The parts of random forests of libraries: objects that are compiled once, and stub libraries that provide sonames."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fastinstall.core.architecture import AARCH64, Architecture, architecture_of
from fastinstall.elf.dynamic import read_dynamic

NAMES = tuple(f"libz{letter}.so" for letter in "abcdefg")
SYMBOLS = tuple(f"forest_{number}" for number in range(6))
VERSIONED = NAMES[4:]
"""References to these libraries ask for symbol versions; a copy may or may not define those versions."""

VERSIONS = ("FOREST_1", "FOREST_2")

HOST = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

extern void *open_elsewhere(const char *name, int mode);

static int show(struct dl_phdr_info *file, size_t size, void *none) {
    (void) size;
    (void) none;
    printf("MAP %s\n", file->dlpi_name);
    return 0;
}

/* Each argument: who opens (p: the program, l: a library), for whom (l: local, g: global), and the name. */
int main(int count, char **arguments) {
    for (int number = 1; number < count; number++) {
        char *how = arguments[number], *name = how + 2;
        int mode = RTLD_LAZY | (how[1] == 'g' ? RTLD_GLOBAL : RTLD_LOCAL);
        void *handle = how[0] == 'p' ? dlopen(name, mode) : open_elsewhere(name, mode);
        puts(handle ? "OPEN" : dlerror());
    }
    dl_iterate_phdr(show, 0);
    return 0;
}
"""
OPENER = "#include <dlfcn.h>\nvoid *open_elsewhere(const char *name, int mode) { return dlopen(name, mode); }\n"


@dataclass(frozen=True, kw_only=True)
class Parts:
    """A directory of objects and stubs.

    Attributes:
        directory: where the parts are.
        loader: the program interpreter (PT_INTERP) of the programs.
        libc: the C library and the start and end files that programs are linked with.
        architecture: the architecture of all parts.
        linker: the first words of the linker's command line.
        root: a directory whose files the programs see below "/"; None if they see only the real "/".
    """

    directory: Path
    loader: str
    libc: tuple[str, ...]
    architecture: Architecture
    linker: tuple[str | Path, ...] = ("ld",)
    root: Path | None = None

    def link(self, *arguments: str | Path) -> None:
        """Run the linker directly, which takes a tenth of the time of the compiler driver."""
        link(*arguments, linker=self.linker)

    def definition(self, symbol: str) -> Path:
        return self.directory / f"define-{symbol}.o"

    def reference(self, symbol: str) -> Path:
        return self.directory / f"refer-{symbol}.o"

    def stub(self, name: str) -> Path:
        """Return a library to link with, which provides a soname (perhaps a path); it is built at first use."""
        path = self.directory / "stubs" / name.replace("/", "%")
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            self.link("-shared", "-o", path, "-soname", name, self.directory / "empty.o")
        return path

    def versioned_stub(self, name: str, version: str) -> Path:
        """Return a stub that defines all symbols in a version, so that files linked with it ask for that version."""
        path = self.directory / "stubs" / f"{name}@{version}"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            definitions = [self.definition(symbol) for symbol in SYMBOLS]
            script = f"--version-script={self.version_script((version,))}"
            self.link("-shared", "-o", path, "-soname", name, script, *definitions)
        return path

    def version_script(self, versions: Sequence[str]) -> Path:
        """Return a version script that puts all symbols into the last version; the other versions are empty."""
        path = self.directory / f"{'-'.join(versions)}.map"
        if not path.exists():
            inner = [f"{version} {{ }};" for version in versions[:-1]]
            path.write_text("\n".join([*inner, f"{versions[-1]} {{ global: forest_*; local: *; }};"]))
        return path


def make_parts(directory: Path, loader: str = "") -> Parts:
    """Compile the parts of forests; programs ask for `loader`, or for this machine's loader if that is empty."""
    _compile_sources(directory, ("gcc",))
    here = architecture_of(os.uname().machine)
    return Parts(directory=directory, loader=loader or interpreter(), libc=_libc(), architecture=here)


def make_arm_parts(directory: Path, root: Path, zig: Path) -> Parts:
    """Compile the parts for aarch64, with Zig, whose linker supports all architectures.

    Args:
        directory: an empty directory.
        root: root directory of a Debian for aarch64, with the headers of its C library.
        zig: the `zig` program.
    """
    includes = (zig.parent / "lib/include", root / "usr/include", root / f"usr/include/{AARCH64.target}")
    words = ["-nostdinc", *(word for include in includes for word in ("-isystem", include))]
    target = f"{AARCH64.machine}-freestanding-none"  # for other targets, Zig searches its own headers first
    _compile_sources(directory, (zig, "cc", "-target", target, "-g0", "-fno-sanitize=undefined", *words))
    libraries = root / "usr/lib" / AARCH64.target
    names = ("Scrt1.o", "crti.o", "crtn.o", "libc.so.6")
    return Parts(
        directory=directory,
        loader=AARCH64.loader,
        libc=tuple(str(libraries / name) for name in names),
        architecture=AARCH64,
        linker=(zig, "ld.lld"),
        root=root,
    )


def _compile_sources(directory: Path, compiler: Sequence[str | Path]) -> None:
    sources = {"empty": "", "host": HOST, "opener": OPENER}
    sources["versions"] = "#include <unistd.h>\nstatic int (*volatile get)(void) __attribute__((used)) = getpid;\n"
    sources |= {f"define-{symbol}": f"int {symbol}(void) {{ return 1; }}\n" for symbol in SYMBOLS}
    # An address in data is bound when the file is loaded. The symbol is weak, so it may stay undefined.
    sources |= {
        f"refer-{symbol}": f"extern int {symbol}(void) __attribute__((weak));\n"
        f'__attribute__((visibility("hidden"))) int (*use_{symbol})(void) = {symbol};\n'
        for symbol in SYMBOLS
    }
    for name, source in sources.items():
        (directory / f"{name}.c").write_text(source)
        # Zig compiles one file per call. No tail calls: the loader identifies the dlopen caller by its return address.
        words = (*compiler, "-c", "-fPIC", "-O1", "-fno-optimize-sibling-calls", f"{name}.c", "-o", f"{name}.o")
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def link(*arguments: str | Path, linker: Sequence[str | Path] = ("ld",)) -> None:
    """Run the linker directly, which takes a tenth of the time of the compiler driver."""
    done = subprocess.run([*linker, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ld {' '.join(map(str, arguments))}\n{done.stderr}"


def interpreter() -> str:
    """Return the loader of this machine's programs."""
    found = read_dynamic(Path(sys.executable).resolve()).interpreter
    assert found is not None
    return found


def _libc() -> tuple[str, ...]:
    """Return the C library and the start and end files that programs are linked with."""
    names = ("Scrt1.o", "crti.o", "crtn.o", "libc.so")
    found = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in names
    ]
    return tuple(found)
