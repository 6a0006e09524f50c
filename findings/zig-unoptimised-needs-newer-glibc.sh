#!/bin/sh
# One would guess: whether a library is optimised does not change which glibc it needs.
#
# What happens: compiled by zig cc without any -O, three lines of C need dozens of functions from outside,
# arc4random_buf of glibc 2.36 and bind(2) among them. With -O1 they need no symbol of glibc.
#
# Why: without -O, zig cc switches the sanitizer for undefined behaviour on, and links its whole runtime, which is
# written in Zig, into each library. It uses what the chosen glibc has.
#
# Whom it hurts: packages whose build passes no -O, as CMake without a build type, for the glibc of this machine or
# another recent one. An older glibc cannot load them, although nothing in their source needs the newer one.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    ziglang==0.17.1 pyelftools==0.33 || exit 69
cd "$dir"
printf 'int add(int one, int other) {\n    return one + other;\n}\n' >add.c
export ZIG_GLOBAL_CACHE_DIR="$dir/cache" ZIG_LOCAL_CACHE_DIR="$dir/cache"
venv/bin/python -m ziglang cc -target native-linux-gnu.2.36 -fPIC -shared -o plain.so add.c
venv/bin/python -m ziglang cc -target native-linux-gnu.2.36 -O1 -fPIC -shared -o optimised.so add.c

venv/bin/python - <<'END' || exit 1
import sys
from importlib.metadata import version

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection


def newest_glibc(path):
    """The newest version of glibc's symbols that a library needs, "0" if none, and what it takes from outside."""
    with open(path, "rb") as file:
        elf = ELFFile(file)
        names = [
            each.name
            for section in elf.iter_sections()
            if isinstance(section, GNUVerNeedSection)
            for _, versions in section.iter_versions()
            for each in versions
        ]
        symbols = elf.get_section_by_name(".dynsym").iter_symbols()
        undefined = {each.name for each in symbols if each["st_shndx"] == "SHN_UNDEF"}
    numbers = [tuple(map(int, name.removeprefix("GLIBC_").split("."))) for name in names if name.startswith("GLIBC_")]
    return ".".join(map(str, max(numbers, default=(0,)))), undefined


plain, optimised = newest_glibc("plain.so"), newest_glibc("optimised.so")
print("ziglang", version("ziglang"))
print(f"without -O: glibc {plain[0]}, {len(plain[1])} names from outside; with -O1 {optimised[0]}, {len(optimised[1])}")
sys.exit(plain[0] != "2.36" or not {"arc4random_buf", "bind"} <= plain[1] or len(plain[1]) < 24 or optimised[0] != "0")
END
