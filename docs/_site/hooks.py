"""Add pages of the repository's root to the site, and adapt links. Links to files outside the site become text."""  # noqa: INP001 (a hook of mkdocs, no package)

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?(?=\))")


def on_files(files: Files, *, config: Any) -> Files:  # noqa: ANN401 (mkdocs has no types)
    """Add the pages that are in the root of the repository."""
    for name in ROOT_PAGES:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:  # noqa: ANN401 (mkdocs has no types)
    """Change links to paths of the site; replace links to files that are only in the repository by their names."""
    uri = page.file.src_uri
    in_root = uri in ROOT_PAGES
    here = "" if in_root else f"docs/{posixpath.dirname(uri)}"
    directory = posixpath.dirname(uri)

    def adapt(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(here, found["path"]))
        return _adapt_link(target, directory, found["path"]) + (found["anchor"] or "")

    return re.sub(r"\[([^\]]*)\]\(repository:([^)]*)\)", r"\1 (`\2`)", _LINK.sub(adapt, markdown))


def _adapt_link(target: str, directory: str, written: str) -> str:
    """Return the link from a directory of the site to a file of the repository; `written` if the file is missing."""
    if target in ROOT_PAGES:
        return posixpath.relpath(target, directory or ".")
    if target.startswith("docs/") and Path(ROOT, target).is_file():
        return posixpath.relpath(target.removeprefix("docs/"), directory or ".")
    return f"repository:{target}" if Path(ROOT, target).exists() else written
