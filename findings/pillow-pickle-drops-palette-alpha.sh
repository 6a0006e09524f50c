#!/bin/sh
# One would guess: an image that is pickled and unpickled is the same image.
#
# What happens: a picture whose palette has alpha, such as quantize() makes of RGBA, comes back opaque. copy.deepcopy
# loses the alpha too; Image.copy() keeps it.
#
# Why: the pickled state has getpalette(), which is red, green and blue by default.
#
# Whom it hurts: data loaders with worker processes, multiprocessing, joblib and caches that pickle images: transparent
# areas turn into opaque ones between two processes, without an error.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pillow==13.0.0 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import copy, pickle, sys

import PIL
from PIL import Image

picture = Image.new("RGBA", (2, 1))
picture.putdata([(10, 20, 30, 0), (40, 50, 60, 255)])
palette = picture.quantize(4)


def alpha(image):
    return list(image.convert("RGBA").getchannel("A").get_flattened_data())


seen = {
    "as made": alpha(palette),
    "copied": alpha(palette.copy()),
    "pickled": alpha(pickle.loads(pickle.dumps(palette))),
    "deep-copied": alpha(copy.deepcopy(palette)),
}
print("Pillow", PIL.__version__, "palette", palette.palette.mode)
print("alpha:", seen)
sys.exit([*seen.values()] != [[0, 255], [0, 255], [255, 255], [255, 255]])
END
