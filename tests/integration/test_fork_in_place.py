"""A Pillow-SIMD installed without fastinstall is judged by the recipe of the same name: symbols, known defects."""

import importlib.machinery

from support.elf.compiler import compile_library
from support.environments.interpreters import running
from support.sandbox import Sandbox

from fastinstall.core.directories import recipes_directory
from fastinstall.observe.recipes import load_recipe

VERSION = "12.1.1.post0"


def test_the_forks_kernels_are_known_by_symbols_and_by_defects(sandbox: Sandbox) -> None:
    venv = sandbox.venv(running(), pip=False)
    fork = load_recipe("pillow-simd", (recipes_directory(),))
    functions = "".join(f"int {symbol}(int a) {{ return a; }}\n" for symbol in fork.expect.symbols)
    (suffix, *_) = importlib.machinery.EXTENSION_SUFFIXES
    package, metadata = venv.site_packages / "PIL", venv.site_packages / f"pillow_simd-{VERSION}.dist-info"
    compile_library(package / f"_imaging{suffix}", f"{functions}int PyInit__imaging(void) {{ return 0; }}\n")
    (package / "__init__.py").write_text("")
    (package / "_version.py").write_text(f'__version__ = "{VERSION}"\n')
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pillow-simd\nVersion: {VERSION}\n")
    files = (path for directory in (package, metadata) for path in directory.iterdir())
    record = "".join(f"{path.relative_to(venv.site_packages)},,\n" for path in files)
    (metadata / "RECORD").write_text(f"{record}{metadata.name}/RECORD,,\n")

    told = sandbox.cli("doctor", "simd-active", "advisories", "--prefix", venv.prefix, "--json").document["findings"]

    assert [finding["status"] for finding in told if finding["check"] == "simd-active"] == ["ok"], told
    assert any("SIMD kernels of Pillow" in finding["message"] for finding in told), told
