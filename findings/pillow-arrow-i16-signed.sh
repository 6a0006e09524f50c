#!/bin/sh
# One would guess: Pillow exports its 16-bit mode I;16, which is unsigned, to Arrow as uint16.
#
# What happens: it exports int16. 40000 arrives as -25536 and white as -1, without an error. numpy.asarray of the
# same image gives uint16.
#
# Why: the format string of the exported Arrow schema is the one for signed 16-bit integers.
#
# Whom it hurts: depth maps, X-rays and microscopy that are put into Arrow, Parquet or Lance datasets without a
# detour over numpy.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 numpy==2.4.6 pyarrow==26.0.1 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import sys

import numpy, PIL, pyarrow
from PIL import Image

values = numpy.array([[0, 32767, 40000, 65535]], numpy.uint16)
image = Image.fromarray(values)
exported = pyarrow.array(image)
as_array = numpy.asarray(image)
print("Pillow", PIL.__version__, "pyarrow", pyarrow.__version__, "mode", image.mode)
print(as_array.dtype, as_array.tolist()[0], "is exported as", exported.type, exported.to_pylist())
seen = str(as_array.dtype), as_array.tolist(), str(exported.type), exported.to_pylist()
sys.exit(seen != ("uint16", values.tolist(), "int16", [0, 32767, -25536, -1]))
END
