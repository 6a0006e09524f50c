"""What random forests of libraries are linked from: objects compiled once, and libraries that lend their names."""

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
"""These are asked for in versions; which of their copies define them is another matter."""

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
        directory: where they are.
        loader: which programs ask for.
        libc: what programs start with, begin and end with, and are linked with.
        architecture: which everything is for.
        linker: what begins its command.
        root: what stands for "/" where something is there; None: "/" itself.
    """

    directory: Path
    loader: str
    libc: tuple[str, ...]
    architecture: Architecture
    linker: tuple[str | Path, ...] = ("ld",)
    root: Path | None = None

    def link(self, *arguments: str | Path) -> None:
        """Run the linker, which takes a tenth of the time that the compiler's driver takes for it."""
        link(*arguments, linker=self.linker)

    def definition(self, symbol: str) -> Path:
        return self.directory / f"define-{symbol}.o"

    def reference(self, symbol: str) -> Path:
        return self.directory / f"refer-{symbol}.o"

    def stub(self, name: str) -> Path:
        """A library to link with for the sake of its soname, which may be a path; made when first asked for."""
        path = self.directory / "stubs" / name.replace("/", "%")
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            self.link("-shared", "-o", path, "-soname", name, self.directory / "empty.o")
        return path

    def versioned_stub(self, name: str, version: str) -> Path:
        """One that defines all symbols in a version, so that who is linked with it asks for that version."""
        path = self.directory / "stubs" / f"{name}@{version}"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            definitions = [self.definition(symbol) for symbol in SYMBOLS]
            script = f"--version-script={self.version_script((version,))}"
            self.link("-shared", "-o", path, "-soname", name, script, *definitions)
        return path

    def version_script(self, versions: Sequence[str]) -> Path:
        """The last of the versions is that of all symbols; the others are there, with nothing in them."""
        path = self.directory / f"{'-'.join(versions)}.map"
        if not path.exists():
            inner = [f"{version} {{ }};" for version in versions[:-1]]
            path.write_text("\n".join([*inner, f"{versions[-1]} {{ global: forest_*; local: *; }};"]))
        return path


def make_parts(directory: Path, loader: str = "") -> Parts:
    """Compile everything that forests are linked from; for another loader than this machine's, if one is given."""
    _compile_sources(directory, ("gcc",))
    here = architecture_of(os.uname().machine)
    return Parts(directory=directory, loader=loader or interpreter(), libc=_libc(), architecture=here)


def make_arm_parts(directory: Path, root: Path, zig: Path) -> Parts:
    """Compile the same for aarch64, by a compiler that has linkers for all machines.

    Args:
        directory: an empty one.
        root: of a Debian for aarch64, with the headers of its C library.
        zig: the program.
    """
    includes = (zig.parent / "lib/include", root / "usr/include", root / f"usr/include/{AARCH64.target}")
    words = ["-nostdinc", *(word for include in includes for word in ("-isystem", include))]
    target = f"{AARCH64.machine}-freestanding-none"  # for others Zig puts its own headers first
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
    # An address in data is bound when the file is loaded, and weak, so that it may stay undefined.
    sources |= {
        f"refer-{symbol}": f"extern int {symbol}(void) __attribute__((weak));\n"
        f'__attribute__((visibility("hidden"))) int (*use_{symbol})(void) = {symbol};\n'
        for symbol in SYMBOLS
    }
    for name, source in sources.items():
        (directory / f"{name}.c").write_text(source)
        # Zig's compiler takes one at a time. The loader tells who opens a file by the address that it returns to.
        words = (*compiler, "-c", "-fPIC", "-O1", "-fno-optimize-sibling-calls", f"{name}.c", "-o", f"{name}.o")
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def link(*arguments: str | Path, linker: Sequence[str | Path] = ("ld",)) -> None:
    """Run the linker, which takes a tenth of the time that the compiler's driver takes for it."""
    done = subprocess.run([*linker, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ld {' '.join(map(str, arguments))}\n{done.stderr}"


def interpreter() -> str:
    """The loader of this machine's programs."""
    found = read_dynamic(Path(sys.executable).resolve()).interpreter
    assert found is not None
    return found


def _libc() -> tuple[str, ...]:
    """What a program starts with and is linked with."""
    names = ("Scrt1.o", "crti.o", "crtn.o", "libc.so")
    found = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in names
    ]
    return tuple(found)
