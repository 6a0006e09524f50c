#!/bin/sh
# One would guess: a decoder written in Rust for data loaders releases the GIL, Python's global lock.
#
# What happens: kornia-rs 0.2.0 keeps it. A second Python thread waits most of the time while a large JPEG is decoded or
# encoded, or a PNG decoded. simplejpeg's decoder releases the lock, and so does kornia-rs's own resize.
#
# Why: the functions of its io module compute without detaching from the interpreter.
#
# Whom it hurts: loaders with threads, and servers: every other Python thread stops while one picture is decoded.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    kornia-rs==0.2.0 simplejpeg==1.9.0 numpy==2.4.6 pillow==13.0.0 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import io, sys, threading, time

import kornia_rs, numpy, simplejpeg
from PIL import Image

picture = numpy.random.default_rng(0).integers(0, 256, (3000, 4000, 3), dtype=numpy.uint8)
data = simplejpeg.encode_jpeg(picture)
stream = io.BytesIO()
Image.fromarray(picture).save(stream, "PNG", compress_level=1)
png = stream.getvalue()
last, longest = time.perf_counter(), 0.0


def take_turns():
    """Note the longest time without a turn of this thread."""
    global last, longest
    while True:
        now = time.perf_counter()
        longest = max(longest, now - last)
        last = now
        time.sleep(0.001)


def without_turn(work):
    """The longest time in which the other thread had no turn, as a share of what this work took: least of three."""
    global longest
    shares = []
    for _ in range(3):
        time.sleep(0.01)
        longest, start = 0.0, time.perf_counter()
        work()
        took = time.perf_counter() - start
        time.sleep(0.01)
        shares.append(longest / took)
    return round(min(shares), 2)


threading.Thread(target=take_turns, daemon=True).start()
seen = {
    "simplejpeg decode": without_turn(lambda: simplejpeg.decode_jpeg(data)),
    "resize": without_turn(lambda: kornia_rs.imgproc.resize(picture, (1500, 2000), "bilinear")),
    "JPEG decode": without_turn(lambda: kornia_rs.io.decode_image_jpeg(data)),
    "JPEG encode": without_turn(lambda: kornia_rs.io.encode_image_jpegturbo(picture, 90)),
    "PNG decode": without_turn(lambda: kornia_rs.io.decode_image_png_u8(png, (3000, 4000), "rgb")),
}
print("kornia-rs", kornia_rs.__version__, "simplejpeg", simplejpeg.__version__)
print("longest time without a turn of a second thread, as a share of the work:", seen)
released = max(seen["simplejpeg decode"], seen["resize"])
held = min(seen["JPEG decode"], seen["JPEG encode"], seen["PNG decode"])
sys.exit(not released < 0.5 < held)
END
