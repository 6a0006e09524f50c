"""A directory of wheels that serves as a wheelhouse and as a static package index (PEP 503).

Any web server or file share can serve it, under any path: the addresses on its pages are relative. The files in the
directory decide: wheels that somebody added are listed, and removed ones leave the pages. Each wheel is checked before
it is listed.
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from email.parser import HeaderParser
from pathlib import Path
from urllib.parse import quote as quote_address

from fastinstall.core import files
from fastinstall.core.archive_members import ArchiveError
from fastinstall.core.errors import FailedError
from fastinstall.core.messages import quote
from fastinstall.core.values import immutable
from fastinstall.index.file_names import parse_filename
from fastinstall.index.sound_wheels import read_sound_metadata
from fastinstall.index.wheelhouse import read_sums
from fastinstall.observe.session import Session
from fastinstall.wheelbuild.output_directory import explain_write_errors, lock_directory, require_writable

PAGES = "simple"
SUMS = "SHA256SUMS"


@immutable
class IndexedWheel:
    """A wheel listed by an index.

    Attributes:
        name: of the distribution, normalised.
        filename: with all tags: "pillow-13.0.0+simd.v2.v3-cp311-cp311-manylinux_2_28_x86_64.whl".
        sha256: its hash, in hexadecimal digits.
        requires_python: a specifier; empty if it has none.
    """

    name: str
    filename: str
    sha256: str
    requires_python: str = ""


def require_wheelhouse(directory: Path) -> None:
    """Check before a build that its wheel can be published; nothing is changed.

    Raises:
        FailedError: the directory is not writable, or a wheel in it is damaged or does not match its checksum.
        DocumentError: its SHA256SUMS cannot be read.
    """
    require_writable(directory)
    _survey(directory)


def publish_wheel(session: Session, wheel: Path, sha256: str, directory: Path) -> Path:
    """Put a wheel into a directory, with its checksum, and update the directory's index.

    Args:
        session: for the caches and events.
        sha256: its hash, in hexadecimal digits.
        directory: created if missing; existing files stay.

    Returns:
        The wheel in its place.

    Raises:
        FailedError: another wheel of that name exists or an existing wheel is damaged; then nothing was changed. Or
            the directory is not writable.
        DocumentError: its SHA256SUMS cannot be read.
    """
    target = directory / wheel.name
    with lock_directory(session, directory), explain_write_errors(directory):
        _survey(directory)
        _refuse_another(target, sha256)
        if not target.exists():
            files.write_bytes(target, wheel.read_bytes())
        wheels = _survey(directory)
        _write_sums(directory, {each.filename for each in wheels}, {target.name: sha256})
        _write_pages(directory / PAGES, make_pages(wheels))
    return target


def make_pages(wheels: Iterable[IndexedWheel]) -> dict[str, str]:
    """Return all pages of an index whose files are in its parent directory, by their paths."""
    projects: dict[str, list[IndexedWheel]] = {}
    for wheel in sorted(wheels, key=lambda each: (each.name, each.filename)):
        projects.setdefault(wheel.name, []).append(wheel)
    links = (f'<a href="{quote_address(name)}/">{html.escape(name)}</a>' for name in projects)
    pages = {"index.html": _render_page("Simple index", links)}
    for name, listed in projects.items():
        pages[f"{name}/index.html"] = _render_page(f"Links for {name}", map(_render_link, listed))
    return pages


def _render_link(wheel: IndexedWheel) -> str:
    address = quote_address(wheel.filename)  # some file stores read a bare "+" as a space
    attributes = {"href": f"../../{address}#sha256={wheel.sha256}", "data-requires-python": wheel.requires_python}
    words = " ".join(f'{key}="{html.escape(value)}"' for key, value in attributes.items() if value)
    return f"<a {words}>{html.escape(wheel.filename)}</a>"


def _render_page(title: str, links: Iterable[str]) -> str:
    lines = "".join(f"    {link}<br>\n" for link in links)
    return f"""\
<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>{html.escape(title)}</title>
  </head>
  <body>
{lines}  </body>
</html>
"""


def _refuse_another(target: Path, sha256: str) -> None:
    """Refuse to replace a wheel: somebody may install it by its hash."""
    if target.is_file() and files.sha256(target) != sha256:
        raise FailedError(
            f"{target}: a different wheel of that name exists; the built one has sha256 {sha256}",
            hint=f"build into another directory; or, if nobody installs the old one by its hash: rm {quote(target)}",
        )


def _write_sums(directory: Path, wheels: Iterable[str], added: Mapping[str, str]) -> None:
    """Add checksums, and drop those of missing wheels; those of other files stay."""
    known = read_sums(directory / SUMS)
    gone = {name for name in known if name.endswith(".whl") and "/" not in name} - set(wheels)
    sums = {name: sha256 for name, sha256 in {**known, **added}.items() if name not in gone}
    _write(directory / SUMS, "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)))


def _write_pages(place: Path, pages: Mapping[str, str]) -> None:
    """Write pages, that of a project before the link to it, and remove those of projects without wheels."""
    for path, text in sorted(pages.items(), reverse=True):
        _write(place / path, text)
    for stale in place.rglob("index.*"):
        if stale.relative_to(place).as_posix() not in pages:
            files.discard(stale)
    for project in place.glob("*/"):
        if not any(project.iterdir()):
            project.rmdir()


def _write(path: Path, text: str) -> None:
    """Write a file only if it differs, so that web caches stay valid."""
    if not path.is_file() or path.read_bytes() != text.encode():
        files.write_text(path, text)


def _survey(directory: Path) -> Sequence[IndexedWheel]:
    """Return the wheels of a directory, found sound; nothing is changed."""
    sums = read_sums(directory / SUMS)
    return [_read_wheel(path, sums.get(path.name)) for path in sorted(directory.glob("*.whl")) if path.is_file()]


def _read_wheel(path: Path, expected: str | None) -> IndexedWheel:
    parsed = parse_filename(path.name)
    if parsed is None:
        raise _make_unusable_wheel_error(path, "its name is not a wheel's")
    digest = files.sha256(path)
    if expected is not None and expected.lower() != digest:
        raise FailedError(
            f"{path}: damaged: sha256 is {digest}, but {SUMS} says {expected}",
            hint=f"copy it again, or remove it: rm {quote(path)}",
        )
    try:
        metadata = HeaderParser().parsestr(read_sound_metadata(path, thorough=expected is None))
    except ArchiveError as error:
        raise _make_unusable_wheel_error(path, error.message) from error
    requires_python = str(metadata.get("Requires-Python", "")).strip()
    return IndexedWheel(name=parsed.name, filename=path.name, sha256=digest, requires_python=requires_python)


def _make_unusable_wheel_error(path: Path, reason: str) -> FailedError:
    return FailedError(f"{path}: cannot list this wheel: {reason}", hint=f"mv {quote(path)} /tmp")
