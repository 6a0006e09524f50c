"""Print what CHANGELOG.md says of a version, once the tag, `__version__` and its section agree.

    python .github/scripts/release_notes.py v0.1.0

Nothing is tagged, built or published here.
"""  # noqa: INP001 (a script of the release workflow, no package)

import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_SECTION = r"^## \[{version}\] - \d{{4}}-\d{{2}}-\d{{2}}\n(.*?)(?=^## \[|\Z)"


def main(arguments: Sequence[str]) -> int:
    """Print the notes for a tag; 1 where something does not agree, with the reason on stderr."""
    if len(arguments) != 1:
        print("usage: release_notes.py TAG", file=sys.stderr)  # noqa: T201 (a script)
        return 2
    init = ROOT.joinpath("fastinstall", "__init__.py").read_text(encoding="utf-8")
    changelog = ROOT.joinpath("CHANGELOG.md").read_text(encoding="utf-8")
    try:
        print(release_notes(arguments[0], init, changelog))  # noqa: T201 (a script)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 (a script)
        return 1
    return 0


def release_notes(tag: str, init: str, changelog: str) -> str:
    """The section of a version.

    Args:
        tag: "v" and the version.
        init: the text of fastinstall/__init__.py.
        changelog: that of CHANGELOG.md.

    Raises:
        ValueError: they do not agree, or the section is empty; says how.
    """
    found = _VERSION.search(init)
    version = found[1] if found else ""
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, and fastinstall/__init__.py says {version or 'no version'}")
    section = re.search(_SECTION.format(version=re.escape(version)), changelog, re.MULTILINE | re.DOTALL)
    if section is None:
        raise ValueError(f'CHANGELOG.md has no section "## [{version}] - YYYY-MM-DD"')
    if not section[1].strip():
        raise ValueError(f"the section of {version} in CHANGELOG.md is empty")
    return section[1].strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
