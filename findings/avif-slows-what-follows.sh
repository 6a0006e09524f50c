#!/bin/sh
# One would guess: saving a picture has no effect on how fast the next operation runs.
#
# What happens: after Pillow has saved one AVIF on a CPU with AVX-512, the upper halves of the thread's vector registers
# stay in use, until something clears them. Meanwhile code that was compiled for SSE can pay for every instruction: a
# Lanczos resize of one band took 3.4 times as long on a Xeon with AVX-512. The times are printed and not judged: they
# depend on the CPU.
#
# Why: code behind AVIF that is chosen on such CPUs ends without VZEROUPPER. XGETBV with ECX=1 shows it: bit 2 says
# whether the upper halves are in use. On an EPYC with AVX2 alone they were clear.
#
# Whom it hurts: benchmarks that save an AVIF before other rows, and services that write thumbnails in several formats.
# Saving a JPEG clears the registers again, so the slow stretch looks random.
set -eu
grep -q avx512f /proc/cpuinfo || { echo "this finding is about CPUs with AVX-512"; exit 69; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 ziglang==0.16.0 || exit 69
cd "$dir"

cat >state.c <<'END'
unsigned upper_halves_in_use(void) {
    unsigned a = 13, b, c = 1, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (!(a & 4)) return 2; /* this CPU has no XGETBV with ECX=1 */
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
    return a >> 2 & 1;
}
unsigned in_use_when_cleared(void) {
    if (upper_halves_in_use() != 2) __asm__ volatile("vzeroupper");
    return upper_halves_in_use();
}
END
ZIG_GLOBAL_CACHE_DIR=$dir/cache ZIG_LOCAL_CACHE_DIR=$dir/cache \
    venv/bin/python -m ziglang cc -shared -fPIC -O1 -target x86_64-linux-gnu -o state.so state.c

"$dir/venv/bin/python" - <<'END' || { [ $? -ne 69 ] && exit 1 || exit 69; }
import ctypes, io, sys, time

import PIL
from PIL import Image

library = ctypes.CDLL("./state.so")
in_use = library.upper_halves_in_use
picture = Image.effect_noise((64, 48), 60).convert("RGB")
band = picture.getchannel(0)


def milliseconds():
    times = []
    for _ in range(30):
        start = time.perf_counter()
        band.resize((341, 256), Image.Resampling.LANCZOS)
        times.append(time.perf_counter() - start)
    return round(min(times) * 1000, 2)


def save(kind):
    picture.save(io.BytesIO(), kind)
    return in_use()


if library.in_use_when_cleared() != 0:
    print("this CPU does not say which registers are in use")
    sys.exit(69)
states = {kind: save(kind) for kind in ("PNG", "JPEG", "WEBP")}
clean = milliseconds()
states["AVIF"] = save("AVIF")
slowed = milliseconds()
states["JPEG after it"] = save("JPEG")
print(f"Pillow {PIL.__version__}: resize {clean} ms before an AVIF is saved, {slowed} ms after")
print("upper halves in use after saving:", states)
sys.exit(states != {"PNG": 0, "JPEG": 0, "WEBP": 0, "AVIF": 1, "JPEG after it": 0})
END
