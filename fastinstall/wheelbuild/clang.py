"""clang from the Zig wheel, unpacked into our cache, with a wrapper that accepts other compilers' options.

`zig cc` is clang with the headers and the symbol versions of every glibc: it needs nothing of the machine and produces
the same bytes everywhere. Some options differ from other compilers; the wrapper translates them. Zig's own run-time
libraries are left out (`-nostdlib`): a core needs none of them, and compiling them takes 17 s.
Source: https://andrewkelley.me/post/zig-cc-powerful-drop-in-replacement-gcc-clang.html
"""

import hashlib
from pathlib import Path

from fastinstall.core import files, sealed_trees
from fastinstall.core.archives import unpack_zip
from fastinstall.core.events import Emit, Started

TOOLCHAINS = "toolchains"
"""The cache's directory for private toolchains."""

_OWN_CACHE = "cache"
"""Where Zig keeps what it compiles for itself, start files and stubs of glibc, which grow with use."""

_LIBC = "lib/libc"
_KEPT = (
    *("ziglang/zig", "ziglang/LICENSE", "ziglang/lib/include/", "ziglang/lib/std/std.zig", f"ziglang/{_LIBC}/glibc/"),
    *(f"ziglang/{_LIBC}/include/{name}/" for name in ("generic-glibc", "any-linux-any")),
    *(f"ziglang/{_LIBC}/include/{name}/" for name in ("x86-linux-gnu", "x86-linux-any")),
)
"""206 MB of 411 MB, which compile C for glibc on x86; Zig looks for its `std.zig` to find itself."""

_CC = """\
#!/bin/sh
# Made by fastinstall: zig cc with other C compilers' options.
here=${0%/*}
unset ZIG_LIB_DIR ZIG_LIBC ZIG_BUILD_RUNNER
export ZIG_GLOBAL_CACHE_DIR="$here/cache" ZIG_LOCAL_CACHE_DIR="$here/cache"
case ${TMPDIR-} in */fastinstall-*) ZIG_LOCAL_CACHE_DIR=$TMPDIR ;; esac
linked="-nostdlib -lc -lm" frame=-fomit-frame-pointer
for word in "$@"; do
    shift
    case $word in
    -march=x86-64-*) word=-march=x86_64_${word#-march=x86-64-} ;;
    -c | -E | -M | -S) linked= ;;
    -O0) frame= ;;
    --version) exec "$here/ziglang/zig" cc --version ;;
    -print-prog-name=ar) echo "$here/ar"; exit ;;
    -print-prog-name=*) echo "${word#*=}"; exit ;;
    -print-file-name=*)
        for directory in /usr/lib/x86_64-linux-gnu /lib/x86_64-linux-gnu /usr/lib64 /lib64 /usr/lib /lib; do
            [ ! -e "$directory/${word#*=}" ] || { echo "$directory/${word#*=}"; exit; }
        done
        echo "${word#*=}"; exit ;;
    esac
    set -- "$@" "$word"
done
exec "$here/ziglang/zig" cc -target x86_64-linux-gnu.2.27 $frame -g0 -fno-sanitize=undefined \\
    -idirafter /usr/include/x86_64-linux-gnu -idirafter /usr/include "$@" $linked
"""
"""Zig spells the levels differently, would add frame pointers, debug information and (without -O) checks of undefined
behaviour, and keeps a copy of each object; here in the temporary directory of a build, which is deleted. 2.27 is the
glibc of the official wheels, 2.28 their tag's."""

_AR = """\
#!/bin/sh
# Made by fastinstall: Zig's archiver.
exec "${0%/*}/ziglang/zig" ar "$@"
"""


def prepare_clang(wheel: Path, cache: Path, emit: Emit) -> Path:
    """Unpack the compiler into our cache, unless it is there file by file, and return the program.

    Args:
        wheel: Zig's, its hash verified.
        cache: our cache directory.
        emit: receives progress events.

    Raises:
        ArchiveError: the wheel is damaged or hostile.
        OSError: the cache cannot be written.
    """
    key = hashlib.sha256("\n".join((files.sha256(wheel), *_KEPT, _CC, _AR)).encode()).hexdigest()
    place = cache / TOOLCHAINS / f"clang-{key[:16]}"
    if not sealed_trees.is_intact(place, cache=cache, but=(_OWN_CACHE,)):
        emit(Started(stage="toolchain", message=f"unpacking clang from {wheel.name}"))
        with files.temporary_directory("clang", within=cache / "tmp") as space:
            fresh = space / "fresh"
            unpack_zip(wheel, fresh, lambda name: name.startswith(_KEPT))
            files.write_text(fresh / "cc", _CC, mode=0o755)
            files.write_text(fresh / "ar", _AR, mode=0o755)
            sealed_trees.publish(fresh, place, space / "aside", cache=cache, but=(_OWN_CACHE,))
    return place / "cc"
