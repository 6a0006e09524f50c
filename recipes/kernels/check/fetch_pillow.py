"""Fetch the source of Pillow that the kernels are checked with, from the index that pip is set up for: DIRECTORY.

It is compared with a hash and unpacked there. Nothing of it is kept in this repository.
"""

import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

NAME = "pillow-13.0.0.tar.gz"
SHA256 = "cdcd1ba258178f7356d74170c9a81ba4eab6a5d55748bc402a5a2a6fe6be3510"


def main(directory: Path) -> None:
    """Fetch, compare, unpack the C files."""
    content = fetch(find_address(index_address()))
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise SystemExit(f"{NAME}: other bytes than expected")
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as space, tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            path, file = Path(member.name), archive.extractfile(member)
            if file is not None and path.parts[1:3] == ("src", "libImaging") and ".." not in path.parts:
                target = Path(space) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read())
        (Path(space) / NAME.removesuffix(".tar.gz")).rename(directory / NAME.removesuffix(".tar.gz"))


def index_address() -> str:
    """Return the address of pip's index."""
    asked = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
    configured = re.search(r"^(?:global|:env:)\.index-url='(.*)'$", asked.stdout, re.MULTILINE)
    if configured:
        return configured[1]
    script = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def find_address(index: str) -> str:
    """Return the address of the file, as the index's page of Pillow has it."""
    page = f"{index.rstrip('/')}/pillow/"
    links = re.findall(r'href="([^"#]+)', fetch(page).decode())
    wanted = next((link for link in links if link.endswith(f"/{NAME}")), "")
    if not wanted:
        raise SystemExit(f"{page} has no {NAME}")
    return urllib.parse.urljoin(page, wanted)


def fetch(address: str) -> bytes:
    """Return what an address gives."""
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 (the user's own index)
        content: bytes = answer.read()
        return content


if __name__ == "__main__":
    main(Path(sys.argv[1]))
