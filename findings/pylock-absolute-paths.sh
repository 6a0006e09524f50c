#!/bin/sh
# One would guess: a pylock.toml (PEP 751) that names a wheel of a folder beside it names it by a relative path, for
# which the format has the key "path".
#
# What happens: pip lock and uv export both write file:// addresses with the absolute path of this machine.
#
# Why: both read the folder as they would read a page of links, and a link is kept as an address.
#
# Whom it hurts: projects that keep their own builds in a folder of the repository: the lock file works in no other
# checkout, and tells the names of somebody's directories.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    pip==26.3 uv==0.13.8 || exit 69
mkdir "$dir/project"
cd "$dir/project"
"$dir/venv/bin/python" -m pip --quiet download --no-deps --dest wheels packaging==26.0 || exit 69
cat >pyproject.toml <<'END'
[project]
name = "example"
version = "0"
requires-python = ">=3.11"
dependencies = ["packaging"]

[tool.uv]
no-index = true
find-links = ["./wheels"]
END
"$dir/venv/bin/python" -m pip --quiet lock --no-index --find-links ./wheels \
    --output pylock.pip.toml packaging 2>/dev/null
"$dir/venv/bin/uv" --quiet --cache-dir "$dir/cache" export --python "$dir/venv/bin/python" --format pylock.toml \
    --output-file pylock.uv.toml >/dev/null
"$dir/venv/bin/python" -m pip --version | cut -d ' ' -f 1,2
"$dir/venv/bin/uv" --version
absolute=$(grep -l "file://$dir/project/wheels" pylock.pip.toml pylock.uv.toml | tr '\n' ' ')
echo "absolute paths in: $absolute"
[ "$absolute" = "pylock.pip.toml pylock.uv.toml " ] || exit 1
