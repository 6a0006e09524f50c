"""What the site needs beyond the pages: the files of the repository's root, and links to what is not in the site."""  # noqa: INP001 (a hook of mkdocs, no package)

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
OF_THE_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?(?=\))")


def on_files(files: Files, *, config: Any) -> Files:  # noqa: ANN401 (mkdocs' own type has no annotations)
    """Add the pages that lie beside docs/."""
    for name in OF_THE_ROOT:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:  # noqa: ANN401 (likewise)
    """Let links lead to where a page is in the site, and say in words what is in the repository only."""
    uri = page.file.src_uri
    of_the_root = uri in OF_THE_ROOT
    here = "" if of_the_root else f"docs/{posixpath.dirname(uri)}"
    there = posixpath.dirname(uri)

    def moved(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, found["path"]))
        return _place(target, there, found["path"]) + (found["anchor"] or "")

    return re.sub(r"\[([^\]]*)\]\(repository:([^)]*)\)", r"\1 (`\2`)", _LINK.sub(moved, markdown))


def _place(target: str, there: str, written: str) -> str:
    """The link to a file of the repository from a directory of the site; `written` where it leads nowhere at all."""
    if target in OF_THE_ROOT:
        return posixpath.relpath(target, there or ".")
    if target.startswith("docs/") and Path(ROOT, target).is_file():
        return posixpath.relpath(target.removeprefix("docs/"), there or ".")
    return f"repository:{target}" if Path(ROOT, target).exists() else written
