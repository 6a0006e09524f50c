#!/bin/sh
# One would guess: who installs with umask 022 gets files that everybody can read.
#
# What happens: with uv the umask of the *first* install of a wheel decides, for every later environment of that
# cache. After one install under umask 077, an environment that is made under umask 022 gets files of mode 600, by
# --link-mode copy too. pip decides each time by its own umask.
#
# Why: uv unpacks a wheel into its cache once, with the umask of that moment, and links or copies these files into
# environments.
#
# Whom it hurts: an administrator or CI job that makes environments for others to read. After one installation with a
# strict umask, the same user's later environments cannot be read by anybody else.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 69' HUP INT TERM
python3 -m venv "$dir/venv" || exit 69
"$dir/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
    uv==0.13.8 || exit 69
uv="$dir/venv/bin/uv --no-config --quiet --cache-dir $dir/cache"
cd "$dir"

mode_after_install() { # $1: umask, $2: environment, $3: how uv takes files from its cache
    $uv venv --python "$dir/venv/bin/python" "$2"
    (umask "$1" && $uv pip install --link-mode "$3" --python "$2/bin/python" pillow==13.0.0) || exit 69
    stat -c %a "$2"/lib/python3*/site-packages/PIL/Image.py
}

umask 022
strict=$(mode_after_install 077 strict hardlink)
linked=$(mode_after_install 022 linked hardlink)
copied=$(mode_after_install 022 copied copy)
python3 -m venv by-pip
by-pip/bin/python -m pip --quiet --disable-pip-version-check install pillow==13.0.0 || exit 69
by_pip=$(stat -c %a by-pip/lib/python3*/site-packages/PIL/Image.py)
"$dir/venv/bin/uv" --version
echo "PIL/Image.py: umask 077 $strict; then umask 022, linked $linked, copied $copied; by pip $by_pip"
[ "$strict $linked $copied $by_pip" = "600 600 600 644" ] || exit 1
