"""The pages of a static package index: for programs, as HTML (PEP 503) and JSON (PEP 691), and for people. Pure.

Their addresses are relative, so they work on any web server, under any path, and on a file share. Sources: the simple
repository API of packaging.python.org (PEP 503, 629, 658, 691, 700, 714, 740).

The front page says what the wheels are for, and how to install them. Its own address is
known to the browser alone: a line of script puts it into the commands. Without scripts they say ADDRESS, and the page
says what to put there.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote as quote_parse

from fastinstall.core.architecture import ARCHITECTURES, level_label
from fastinstall.core.codec import dump
from fastinstall.core.values import immutable
from fastinstall.index.selection import parse_filename

_VERSION = "1.3"  # the first with provenance (PEP 740)


@immutable
class IndexedFile:
    """A file listed by an index.

    Attributes:
        name: of the distribution, normalised.
        filename: with all tags: "pillow-13.0.0+simd.v2.v3-cp311-cp311-manylinux_2_28_x86_64.whl".
        sha256: its hash, in hexadecimal digits.
        size: of the file, in bytes.
        uploaded: when it was added, in UTC: "2026-01-31T12:00:00Z".
        requires_python: a specifier; empty if it has none.
        metadata_sha256: of its metadata beside it; empty without metadata.
        has_provenance: whether its attestations are beside it.
    """

    name: str
    version: str
    filename: str
    sha256: str
    size: int
    uploaded: str
    requires_python: str = ""
    metadata_sha256: str = ""
    has_provenance: bool = False


def index_pages(files: Sequence[IndexedFile]) -> dict[str, str]:
    """Return all pages of an index whose files are in its parent directory, by their paths."""
    projects: dict[str, list[IndexedFile]] = {}
    for file in sorted(files, key=lambda each: (each.name, each.filename)):
        projects.setdefault(file.name, []).append(file)
    links = (f'<a href="{quote_parse(name)}/">{html.escape(name)}</a>' for name in projects)
    root = {"meta": {"api-version": _VERSION}, "projects": [{"name": name} for name in projects]}
    pages = {"index.html": _render_page("Simple index", links), "index.json": dump(root)}
    for name, offered in projects.items():
        pages[f"{name}/index.html"] = _render_page(f"Links for {name}", map(_render_file_link, offered))
        pages[f"{name}/index.json"] = dump(_make_project_document(name, offered))
    return pages


def make_address(filename: str) -> str:
    """Return the address of a file, relative to its directory; some file stores read a bare "+" as a space."""
    return quote_parse(filename)


def _render_file_link(file: IndexedFile) -> str:
    attributes = {"href": f"{_make_file_address(file)}#sha256={file.sha256}"}
    if file.requires_python:
        attributes["data-requires-python"] = file.requires_python
    if file.metadata_sha256:
        attributes["data-core-metadata"] = f"sha256={file.metadata_sha256}"
    if file.has_provenance:
        attributes["data-provenance"] = f"{_make_file_address(file)}.provenance"
    words = " ".join(f'{key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"<a {words}>{html.escape(file.filename)}</a>"


def _render_page(title: str, links: Iterable[str]) -> str:
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "  <head>",
            '    <meta charset="utf-8">',
            f'    <meta name="pypi:repository-version" content="{_VERSION}">',
            f"    <title>{html.escape(title)}</title>",
            "  </head>",
            "  <body>",
            *(f"    {link}<br>" for link in links),
            "  </body>",
            "</html>",
            "",
        )
    )


def _make_project_document(name: str, files: Sequence[IndexedFile]) -> dict[str, Any]:
    versions = list(dict.fromkeys(file.version for file in files))
    return {
        "meta": {"api-version": _VERSION},
        "name": name,
        "versions": versions,
        "files": [_make_file_entry(file) for file in files],
    }


def _make_file_entry(file: IndexedFile) -> Mapping[str, Any]:
    described: dict[str, Any] = {
        "filename": file.filename,
        "url": _make_file_address(file),
        "hashes": {"sha256": file.sha256},
        "size": file.size,
        "upload-time": file.uploaded,
    }
    if file.requires_python:
        described["requires-python"] = file.requires_python
    if file.metadata_sha256:
        described["core-metadata"] = {"sha256": file.metadata_sha256}
    if file.has_provenance:
        described["provenance"] = f"{_make_file_address(file)}.provenance"
    return described


def _make_file_address(file: IndexedFile) -> str:
    """Return the address relative to the project's page."""
    return f"../../{make_address(file.filename)}"


MARK = '<meta name="generator" content="fastinstall">'
"""By which a page is known to be ours, so that it may be written again."""

_LEVELS = {level_label(level.name): level.name for each in ARCHITECTURES for level in each.levels}
_GLIBC = re.compile(r"manylinux_(\d+)_(\d+)_")
_STYLE = """\
body { font: 1em/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 64em; padding: 0 1em }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { border-bottom: 1px solid #8888; padding: .3em 1em .3em 0; text-align: left; vertical-align: top }
pre { background: #8882; overflow-x: auto; padding: .7em 1em }
td code { font-size: .75em; word-break: break-all }"""
_SCRIPT = """\
for (const each of document.querySelectorAll("pre"))
  each.textContent = each.textContent.replaceAll("ADDRESS", new URL("simple", document.baseURI).href)"""


def front_page(files: Sequence[IndexedFile]) -> str:
    """Return the page of an index whose pages for programs are in `simple/`.

    Args:
        files: of the index, at least one.
    """
    names = list(dict.fromkeys(file.name for file in files))
    name = "pillow" if "pillow" in names else names[0]
    rows = "\n".join(_render_row(file) for file in sorted(files, key=_sort_key))
    title = html.escape(f"Package index: {', '.join(names)}")
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{MARK}
<title>{title}</title>
<style>
{_STYLE}
</style>
</head>
<body>
<h1>{title}</h1>
<p>pip, uv, Poetry and PDM install these wheels. They need no compiler and no other program.</p>
<table>
<tr><th>wheel</th><th>Python</th><th>CPU levels</th><th>glibc</th><th>MB</th><th>sha256</th></tr>
{rows}
</table>
<p>A wheel with several CPU levels has the code once for each. The loader takes the best that the CPU has. The glibc is
the oldest that the wheel runs with.</p>
<h2>Install</h2>
<p>ADDRESS is the address of this page with <code>simple</code> for its last part.</p>
{_render_commands(html.escape(name))}
<h2>What a wheel is made of</h2>
<p>A wheel of fastinstall's tells it in its <code>.dist-info</code>: sources, compiler and flags in
<code>fastinstall.json</code>, libraries in <code>sboms/</code>. For sha256sum: <a href="SHA256SUMS">SHA256SUMS</a>.
A hash says that a file arrived unchanged, not who made it: attestations (PEP 740) are linked above where there are any.
Programs read <a href="simple/">simple/</a>.</p>
<script>
{_SCRIPT}
</script>
</body>
</html>
"""


def _render_row(file: IndexedFile) -> str:
    address = make_address(file.filename)
    signed = f'<br><a href="{address}.provenance">attestations</a>' if file.has_provenance else ""
    cells = (
        f'<a href="{address}">{html.escape(f"{file.name} {file.version}")}</a>{signed}',
        html.escape(", ".join(_list_pythons(file.filename))),
        html.escape(", ".join(_list_levels(file.version))),
        html.escape(_find_glibc(file.filename)),
        f"{file.size / 1e6:.1f}",
        f"<code>{html.escape(file.sha256)}</code>",
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _sort_key(file: IndexedFile) -> tuple[str, list[int], str]:
    return file.name, [int(digits) for digits in re.findall(r"\d+", _list_pythons(file.filename)[0])], file.filename


def _list_pythons(filename: str) -> list[str]:
    """Return the Pythons that a wheel is for, as people name them: "3.14t"; what cannot be read as the tag has it."""
    parsed = parse_filename(filename)
    tags = sorted({tag.interpreter if tag.abi == "none" else tag.abi for tag in parsed.tags}) if parsed else [""]
    return [re.sub(r"^cp3(\d+)(t?)$", r"3.\1\2", tag) for tag in tags]


def _list_levels(version: str) -> Iterator[str]:
    """Yield the CPU levels that a version label names."""
    for part in version.partition("+")[2].split("."):
        if part in _LEVELS:
            yield _LEVELS[part]


def _find_glibc(filename: str) -> str:
    found = [(int(major), int(minor)) for major, minor in _GLIBC.findall(filename)]
    return "{}.{}".format(*min(found)) if found else ""


def _render_commands(name: str) -> str:
    return f"""\
<p>pip, in a step of its own: it takes packages from this index alone, and never beside another one.</p>
<pre>python -m pip install --index-url ADDRESS {name}</pre>
<p>uv, in <code>pyproject.toml</code>:</p>
<pre>[[tool.uv.index]]
name = "stack"
url = "ADDRESS"
explicit = true

[tool.uv.sources]
{name} = {{ index = "stack" }}</pre>
<p>Poetry:</p>
<pre>poetry source add --priority explicit stack ADDRESS/
poetry add --source stack {name}</pre>
<p>PDM, in <code>pyproject.toml</code>; the other sources need <code>exclude_packages = ["{name}"]</code>:</p>
<pre>[[tool.pdm.source]]
name = "stack"
url = "ADDRESS"
include_packages = ["{name}"]
exclude_packages = ["*"]</pre>"""
