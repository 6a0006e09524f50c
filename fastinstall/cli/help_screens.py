"""Which flags `--help` shows of a verb that has more than fit a screen, and in which words.

A verb that is not here shows all of its flags. None stands for the words of the parser.
"""

from collections.abc import Mapping

_PREFIX: dict[str, str | None] = {"--prefix": None}
_WISHES: dict[str, str | None] = {
    "--recipe": None,
    "--levels": "several CPU levels in one wheel: x86-64-v2,x86-64-v3",
    "--wheelhouse": None,
    "--offline": None,
    "--allow": "accept named risks: vulnerable, downgrade, ...",
}
_JSON: dict[str, str | None] = {"--json": None}
_OUTPUT: dict[str, str | None] = {**_JSON, "--quiet": None, "--verbose": None, "--no-color": None}
_TARGET: dict[str, str | None] = {**_PREFIX, "--python": None}

SCREENS: Mapping[str, Mapping[str, str | None]] = {
    "setup": {
        **_PREFIX,
        "--new-env": "make a virtual environment there",
        **_WISHES,
        "--yes": None,
        "--dry-run": None,
        **_JSON,
    },
    "plan": {
        "--output": None,
        "--format": "how to print it",
        "--hosts": "for many machines: a directory of `inspect --json`",
        **_PREFIX,
        "--new-env": "make a virtual environment there",
        **_WISHES,
        **_JSON,
    },
    "doctor": {
        "--list": None,
        "--all": "every environment that is known",
        "--pid": "what a running process has loaded",
        "--host-flags": "would it run on that machine, too?",
        "--quick": "from files alone, within a moment",
        "--fix": None,
        "--fail-on": None,
        "--collect": "sum up reports: a directory of `doctor --json`",
        **_PREFIX,
        **_JSON,
    },
    "rollback": {
        "--list": None,
        "--to": "undo all back to before this one",
        "--forget": "give up the way back to older ones, for disk space",
        "--allow": None,
        **_TARGET,
        "--yes": None,
        **_OUTPUT,
    },
    "guard": {
        "files": "check: would these lock files bring stock Pillow back?",
        "--pin": "install: hold pip, uv or conda to this build, too",
        "--project": "install --pin, remove: the project that is pinned",
        **_TARGET,
        "--yes": None,
        **_OUTPUT,
    },
    "build": {
        "--output": None,
        "--format": "conda: make DIR a channel of conda packages",
        "--explain": None,
        "--hosts": "for many machines: a directory of `inspect --json`",
        "--with-tool": "fastinstall itself too, for hosts without an index",
        **_PREFIX,
        **{flag: says for flag, says in _WISHES.items() if flag != "--allow"},
        **_JSON,
    },
    "bench": {
        "paths": "images, or directories; without any, made-up photos",
        "--quick": None,
        "--only": None,
        **_PREFIX,
        "--target-rate": None,
        "--loader": "your own way of loading, to compare with",
        "--with": "fetch packages of candidates first, into our cache",
        "--html": None,
        **_JSON,
    },
    "recipes": {
        "--prove": "check: build what it makes, and prove it; minutes",
        **_TARGET,
        **_OUTPUT,
    },
}
"""By verb, flags (the longest spelling) and other arguments (the name in the parser), in the words of a screen."""
