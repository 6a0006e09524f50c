"""clang from the Zig wheel, unpacked into fastinstall's cache, with a wrapper that accepts other compilers' options.

`zig cc` is clang with the headers and symbol versions of every glibc. It needs no files of the machine and produces the
same bytes everywhere. Some of its options differ from those of other compilers; the wrapper translates them. Zig's
run-time libraries are not linked (`-nostdlib`): a core needs none of them, and compiling them takes 17 s.
Source: https://andrewkelley.me/post/zig-cc-powerful-drop-in-replacement-gcc-clang.html
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from fastinstall.compilers.compiler import TOOLCHAINS, WheelCompiler
from fastinstall.compilers.flags import RECORD_SWITCHES
from fastinstall.core import files, sealed_trees
from fastinstall.core.architecture import AARCH64, X86_64, Architecture, architecture_of
from fastinstall.core.archives import unpack_zip
from fastinstall.core.events import Emit, Started
from fastinstall.model.facts import Interpreter
from fastinstall.model.request import ToolchainSource

_OWN_CACHE = "cache"
"""The directory in which Zig caches start files and glibc stubs that it compiles; it grows with use."""

_LIBC = "lib/libc"
_KEPT = (
    *("ziglang/zig", "ziglang/LICENSE", "ziglang/lib/include/", "ziglang/lib/std/std.zig", f"ziglang/{_LIBC}/glibc/"),
    *(f"ziglang/{_LIBC}/include/{name}/" for name in ("generic-glibc", "any-linux-any")),
)
"""The unpacked parts of the wheel: 206 MB of 411 MB, with the headers of one architecture.

Zig finds its own directory by its `std.zig`.
"""

_FAMILIES = {X86_64.machine: "x86"}
"""Zig's names for architectures in its header directories, where they differ from the kernel's names."""

_CC = """\
#!/bin/sh
# Made by fastinstall: zig cc with other C compilers' options.
here=${0%/*}
unset ZIG_LIB_DIR ZIG_LIBC ZIG_BUILD_RUNNER
export ZIG_GLOBAL_CACHE_DIR="$here/cache" ZIG_LOCAL_CACHE_DIR="$here/cache"
case ${TMPDIR-} in */fastinstall-*) ZIG_LOCAL_CACHE_DIR=$TMPDIR ;; esac
linked="-nostdlib -lc -lm" frame=-fomit-frame-pointer level=-march=@baseline@
for word in "$@"; do
    shift
    case $word in
@levels@    -mtune=native) continue ;;
    -mtune=*) set -- "$@" -Xclang -tune-cpu -Xclang "${word#-mtune=}"; continue ;;
    -c | -E | -M | -S) linked= ;;
    -O0) frame= ;;
    --version) exec "$here/ziglang/zig" cc --version ;;
    -print-prog-name=ar) echo "$here/ar"; exit ;;
    -print-prog-name=*) echo "${word#*=}"; exit ;;
    -print-file-name=*)
@libraries@        echo "${word#*=}"; exit ;;
@foreign@    esac
    set -- "$@" "$word"
done
exec "$here/ziglang/zig" cc -target @target@.2.27 $level $frame -g0 -fno-sanitize=undefined \\
    @headers@"$@" $linked
"""
"""The wrapper script around `zig cc`, with placeholders.

Zig spells CPU names differently, compiles for the CPU it runs on by default, and treats -mtune like -march. By default
it also adds frame pointers, debug information and (without -O) checks of undefined behaviour. It caches each object;
the wrapper puts this cache into the build's temporary directory, which is deleted after the build. 2.27 is the glibc
version that official wheels need, although their tag says 2.28.
"""

_X86_LEVELS = """\
    -march=*)
        level=
        while case $word in -march=*-*) ;; *) false ;; esac; do
            name=${word#-march=} word=-march=${name%%-*}_${name#*-}
        done ;;
"""
_ARM_LEVELS = """\
    -march=*)
        level=
        case $word in -march=@first@*) word=-march=generic${word#-march=@first@} ;; esac
        word=${word%+simd} ;;
""".replace("@first@", AARCH64.levels[0].name)
_LEVELS = {X86_64.machine: (_X86_LEVELS, X86_64.machine), AARCH64.machine: (_ARM_LEVELS, "generic")}
"""For each machine: script code that changes -march into Zig's form (underscores for hyphens, no "+simd"), and Zig's
name of the baseline CPU."""

_OWN_LIBRARIES = """\
        for directory in /usr/lib/@target@ /lib/@target@ /usr/lib64 /lib64 /usr/lib /lib; do
            [ ! -e "$directory/${word#*=}" ] || { echo "$directory/${word#*=}"; exit; }
        done
"""
_OWN_HEADERS = "-idirafter /usr/include/@target@ -idirafter /usr/include "
_FOREIGN = """\
    -[IL]/lib | -[IL]/lib/* | -[IL]/lib64 | -L/usr/*) continue ;;
    -I/usr/include | -I/usr/include/*-linux-* | -I/usr/local/include) continue ;;
"""
"""Script code that drops options for this machine's headers and libraries, which are wrong for another target."""

_AR = """\
#!/bin/sh
# Made by fastinstall: Zig's archiver.
exec "${0%/*}/ziglang/zig" ar "$@"
"""


class ClangCompiler(WheelCompiler):
    """clang from the Zig wheel. Code that it compiles runs faster than GCC's (measured for ADR 0054)."""

    word = ToolchainSource.CLANG
    choice = "clang from the package index; fastest code, needs no root"
    distribution = "ziglang"
    versions = "==0.17.*"
    unpacked_bytes = 233_000_000
    program = "clang"
    crosses = True
    advantage = "faster code than GCC's"
    limits = "it compiles only the core of an official wheel for glibc"

    def fits(self, interpreter: Interpreter, *, core_alone: bool) -> bool:
        """Return True if only a core for glibc is built: its only system library is glibc, which Zig provides."""
        return core_alone and interpreter.libc == "glibc"

    def select_flags(self, probed: Iterable[str]) -> tuple[str, ...]:
        """Return all flags except linker flags and the flag that records switches in the output."""
        return tuple(flag for flag in probed if flag != RECORD_SWITCHES and not flag.startswith("-Wl,"))

    def prepare(self, wheel: Path, cache: Path, emit: Emit, architecture: Architecture | None = None) -> Path:
        """Unpack the parts of the wheel that compile C for one architecture, and write the wrapper script."""
        here = architecture_of(os.uname().machine)
        target = architecture or here
        family = _FAMILIES.get(target.machine, target.machine)
        kept = (*_KEPT, *(f"ziglang/{_LIBC}/include/{family}-linux-{name}/" for name in ("gnu", "any")))
        program = _make_wrapper(target, foreign=target != here)
        key = hashlib.sha256("\n".join((files.sha256(wheel), *kept, program, _AR)).encode()).hexdigest()
        place = cache / TOOLCHAINS / f"clang-{key[:16]}"

        def unpack(tree: Path) -> None:
            emit(Started(stage="toolchain", message=f"unpacking clang from {wheel.name}"))
            unpack_zip(wheel, tree, lambda name: name.startswith(kept))
            files.write_text(tree / "cc", program, mode=0o755)
            files.write_text(tree / "ar", _AR, mode=0o755)

        return sealed_trees.make_once(place, unpack, cache=cache, but=(_OWN_CACHE,)) / "cc"


COMPILER = ClangCompiler()


def _make_wrapper(architecture: Architecture, *, foreign: bool) -> str:
    levels, baseline = _LEVELS.get(architecture.machine, _LEVELS[X86_64.machine])
    parts = {
        "levels": levels,
        "baseline": baseline,
        "libraries": "" if foreign else _OWN_LIBRARIES,
        "headers": "" if foreign else _OWN_HEADERS,
        "foreign": _FOREIGN if foreign else "",
        **{key: getattr(architecture, key) for key in ("title", "machine", "target")},
    }
    text = _CC
    for key, part in parts.items():
        text = text.replace(f"@{key}@", part)
    return text
