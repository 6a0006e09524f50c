#!/bin/sh
# One would guess: a compiler that accepts -fopenmp while it links either links an OpenMP runtime or fails.
#
# What happens: zig cc -fopenmp -shared ends with 0, compiles calls of the runtime, and names no library that has
# them. The extension module fails when it is imported: undefined symbol __kmpc_fork_call.
#
# Why: clang inside compiles the pragmas, and Zig, which has no libomp, adds none. A shared object may have undefined
# symbols, so the linker is content.
#
# Whom it hurts: whoever builds extensions with OpenMP by the compiler of the package index: the build ends well, and
# the first import fails.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    ziglang==0.17.1 pyelftools==0.33 || exit 69
cd "$dir"
cat >sum.c <<'END'
double sum(const double *numbers, int count) {
    double total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int index = 0; index < count; index++)
        total += numbers[index];
    return total;
}
END
ZIG_GLOBAL_CACHE_DIR=$dir/cache ZIG_LOCAL_CACHE_DIR=$dir/cache \
    venv/bin/python -m ziglang cc -O2 -fopenmp -fPIC -shared -o libsum.so sum.c

venv/bin/python - <<'END' || exit 1
import ctypes, sys
from importlib.metadata import version

from elftools.elf.elffile import ELFFile

with open("libsum.so", "rb") as file:
    dynamic = ELFFile(file).get_section_by_name(".dynamic")
    needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]
try:
    ctypes.CDLL("./libsum.so", mode=2)  # RTLD_NOW, as Python loads extension modules
    error = "loaded"
except OSError as refusal:
    error = str(refusal)
print("ziglang", version("ziglang"))
print("needed:", needed, "-", error)
sys.exit(any("omp" in name for name in needed) or "__kmpc" not in error)
END
