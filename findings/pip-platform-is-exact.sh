#!/bin/sh
# One would guess: pip download --platform manylinux_2_34_x86_64 takes what pip installs on such a machine, wheels for
# older glibc included.
#
# What happens: pip takes wheels with exactly that tag and says that there is no matching distribution. For
# manylinux_2_28, which the wheel names, it downloads it. For macosx_15_0_arm64 pip takes a wheel for macOS 11, and uv a
# manylinux_2_28 wheel for manylinux_2_34.
#
# Why: pip spells out the older versions of a macOS platform that is named, and those of manylinux2014, but not those of
# manylinux_2_N.
#
# Whom it hurts: who collects wheels for machines without a network, naming what those machines are. The flag has to be
# repeated, once for each older glibc.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pip==26.3 uv==0.13.8 || exit 69
cd "$dir"

fetch() { # $1: a folder, then options that name platforms
    folder=$1
    shift
    "$dir/venv/bin/python" -m pip download --quiet --no-deps --only-binary :all: --python-version 3.13 \
        --implementation cp --abi cp313 --dest "$folder" "$@" pillow==13.0.0
}

fetch linux --platform manylinux_2_28_x86_64 || exit 69
fetch both --platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 || exit 69
fetch mac --platform macosx_15_0_arm64 || exit 69
"$dir/venv/bin/uv" --no-config --quiet --cache-dir "$dir/cache" pip install --no-deps --only-binary :all: \
    --target by-uv --python "$dir/venv/bin/python" --python-version 3.13 --python-platform x86_64-manylinux_2_34 \
    pillow==13.0.0 || exit 69
if fetch newer --platform manylinux_2_34_x86_64 >refusal 2>&1; then
    by_pip=taken
else
    by_pip=$(grep -o 'No matching distribution found' refusal || echo "another error")
fi
"$dir/venv/bin/python" -m pip --version | cut -d ' ' -f 1,2
"$dir/venv/bin/uv" --version
ls linux mac
tags=$(sed -n 's/^Tag: .*-//p' by-uv/pillow-*/WHEEL | tr '\n' ' ')
echo "for manylinux_2_34: pip: $by_pip; uv takes a wheel for $tags"
ls mac | grep -q macosx_11_0_arm64 || exit 1
ls by-uv/PIL/_imaging.cpython-313-x86_64-linux-gnu.so >/dev/null || exit 1
[ "$by_pip" = "No matching distribution found" ] || exit 1
