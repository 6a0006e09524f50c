"""Script for one PIL: prints the features that `PIL.features` checks and their versions, one per line."""

import sys

from PIL import features

for name in sorted({*features.modules, *features.codecs, *features.features}):
    sys.stdout.write(f"{name}: {features.check(name)} {features.version(name)}\n")
