#!/bin/sh
# One would guess: -mtune=CPU arranges code for a CPU and uses no instruction beyond -march, as with GCC and clang.
#
# What happens: with zig cc it is another -march, and the last one wins. '-march=x86_64_v2 -mtune=znver4' compiles
# AVX code; with the two in the other order the tuning is lost.
#
# Why: zig cc reads -mcpu, -march and -mtune as its own -mcpu. clang's own tuning can still be had, by
# '-Xclang -tune-cpu -Xclang znver4'.
#
# Whom it hurts: whoever builds wheels with zig cc as CC and an -mtune beside -march in CFLAGS: they end with SIGILL on
# CPUs without AVX.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    ziglang==0.17.1 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import importlib.metadata, os, pathlib, subprocess, sys

os.environ.update(ZIG_GLOBAL_CACHE_DIR=os.path.abspath("cache"), ZIG_LOCAL_CACHE_DIR=os.path.abspath("cache"))
pathlib.Path("sum.c").write_text("int f(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }")


def uses_avx(*flags):
    """Whether a loop is compiled with vectors of 32 or 64 bytes."""
    words = ("cc", "-target", "x86_64-linux-gnu", "-O3", *flags, "-S", "-o", "sum.s", "sum.c")
    subprocess.run((sys.executable, "-m", "ziglang", *words), check=True, capture_output=True)
    code = pathlib.Path("sum.s").read_text()
    return "%ymm" in code or "%zmm" in code


seen = {
    "-march": uses_avx("-march=x86_64_v2"),
    "-march -mtune": uses_avx("-march=x86_64_v2", "-mtune=znver4"),
    "-mtune -march": uses_avx("-mtune=znver4", "-march=x86_64_v2"),
    "-march -Xclang -tune-cpu": uses_avx("-march=x86_64_v2", "-Xclang", "-tune-cpu", "-Xclang", "znver4"),
}
print("ziglang", importlib.metadata.version("ziglang"))
print("AVX in code for x86-64-v2:", seen)
sys.exit([*seen.values()] != [False, True, False, False])
END
