#!/bin/sh
# One would guess: pillow==12.* means any release of Pillow 12 to a solver of conda packages, as it does for pip in a
# requirements.txt.
#
# What happens: rattler, which pixi solves with, takes version 12 alone for ==12.*. It takes neither 12.1.1 nor 12.3.0.
# 12.* takes both.
#
# Why: == is equality in a match spec, and rattler ignores a star after it.
#
# Whom it hurts: whoever copies a requirement of pip's into the conda dependencies of a pixi project: releases that were
# meant are ruled out.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    py-rattler==0.28.0 packaging==26.0 || exit 69
cd "$dir"

"$dir/venv/bin/python" - <<'END' || exit 1
import sys
from importlib.metadata import version

from packaging.specifiers import SpecifierSet
from rattler import Version, VersionSpec

releases = ("12.0.0", "12.1.1", "12.3.0", "13.0.0")
taken = {text: [each for each in releases if VersionSpec(text).matches(Version(each))] for text in ("==12.*", "12.*")}
taken["pip"] = [each for each in releases if each in SpecifierSet("==12.*")]
print("py-rattler", version("py-rattler"), "packaging", version("packaging"))
print("==12.* takes", taken["==12.*"], "- 12.* takes", taken["12.*"], "- pip's ==12.* takes", taken["pip"])
sys.exit(taken != {"==12.*": ["12.0.0"], "12.*": [*releases[:3]], "pip": [*releases[:3]]})
END
