#!/bin/sh
# One would guess: a decoder written in Rust for data loaders releases Python's global lock while it decodes.
#
# What happens: kornia-rs 0.2.0 keeps it: a second Python thread has no turn while a large JPEG is decoded or
# encoded, or a PNG decoded. Its resize releases the lock, and so do OpenCV's and simplejpeg's decoders.
#
# Why: the functions of its io module compute without detaching from the interpreter.
#
# Whom it hurts: loaders with threads, and servers: two threads decode no faster than one, and every other thread
# stops meanwhile.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/python" -m pip --quiet --disable-pip-version-check install kornia-rs==0.2.0 simplejpeg==1.9.0 numpy==2.4.6
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import sys, threading, time

import kornia_rs, numpy, simplejpeg

picture = numpy.random.default_rng(0).integers(0, 256, (3000, 4000, 3), dtype=numpy.uint8)
data = simplejpeg.encode_jpeg(picture)
turns = 0


def count():
    global turns
    while True:
        turns += 1
        time.sleep(0)


def turns_during(work):
    """Turns of the other thread a millisecond of this work."""
    before, start = turns, time.perf_counter()
    work()
    return (turns - before) / (time.perf_counter() - start) / 1000


threading.Thread(target=count, daemon=True).start()
seen = {
    "simplejpeg decode": turns_during(lambda: simplejpeg.decode_jpeg(data)),
    "kornia-rs decode": turns_during(lambda: kornia_rs.io.decode_image_jpeg(data)),
    "kornia-rs encode": turns_during(lambda: kornia_rs.io.encode_image_jpegturbo(picture, 90)),
}
print("kornia-rs", kornia_rs.__version__, "simplejpeg", simplejpeg.__version__)
print("turns of a second thread per ms:", {name: round(value, 2) for name, value in seen.items()})
held = max(seen["kornia-rs decode"], seen["kornia-rs encode"]) * 20 < seen["simplejpeg decode"]
sys.exit(not held)
END
