import contextlib
import io
import re
from pathlib import Path

import fastinstall

ROOMS = Path(fastinstall.__file__).parent


def _printed(room: str) -> str:
    (code,) = re.findall(
        r"^```python\n(.*?)^```", (ROOMS / room / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f"{room}/README.md", "exec"), {})  # noqa: S102 (the page's own example)
    return printed.getvalue()


def test_the_example_of_elf_names_the_libraries_of_this_python() -> None:
    assert re.search(r"^\S+ asks for .*libc\.", _printed("elf"))
    assert re.search(r"^libc\S* -> /", _printed("elf"), re.MULTILINE)
