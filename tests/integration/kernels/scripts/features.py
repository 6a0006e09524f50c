"""Runs with one PIL: prints what `PIL.features` checks, with its version, a line each."""

import sys

from PIL import features

for name in sorted({*features.modules, *features.codecs, *features.features}):
    sys.stdout.write(f"{name}: {features.check(name)} {features.version(name)}\n")
