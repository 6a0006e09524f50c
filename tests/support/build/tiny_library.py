"""An sdist with a tiny C library, which is configured and compiled as zlib-ng is.

It replaces only an external input: its `configure` just writes makefiles, with the given compiler and flags.
"""

import io
import os
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.values.build_requests import V3, build_recipe, build_request, build_step

from fastinstall.compilers.system import observe_compiler
from fastinstall.model.machine import Compiler
from fastinstall.model.recipe import NativeRequirement, StaticSource
from fastinstall.wheelbuild.build_inputs import BuildRequest

CONFIGURE = r"""#!/bin/sh
[ "$1" = --tiny ] || { echo "configure: unknown word $1" >&2; exit 1; }
for place in . arch/fast; do
cat > $place/Makefile <<END
CC=$CC
CFLAGS=$CFLAGS -DWHERE
SRCDIR=$PWD/$place
ARCHDIR=arch/fast
OBJS=one.o two.o
STATICLIB=libtiny.a

\$(STATICLIB): \$(OBJS)
	ar rc \$@ \$(OBJS)

END
done
printf '%%.o: $(SRCDIR)/%%.c\n\t$(CC) $(CFLAGS) -c -o $@ $<\n' >> Makefile
printf 'two.o:\n\t$(CC) $(CFLAGS) -DFAST -c -o $@ $(SRCDIR)/two.c\n' >> arch/fast/Makefile
sed s/@VERSION@/2.3/ < tiny.h.in > tiny.h
"""
MEMBERS = {
    "configure": CONFIGURE,
    "tiny.h.in": '#define TINY_VERSION "@VERSION@"\nconst char *tiny_place(void);\nint tiny_two(void);\n',
    "one.c": "const char *tiny_place(void) { return __FILE__; }\n",
    "arch/fast/two.c": "#ifdef FAST\nint tiny_two(void) { return 2; }\n#endif\n",
}
SOURCE = StaticSource(
    pypi="tiny-library",
    directory="src/tiny",
    configure=("--tiny",),
    archive="libtiny.a",
    headers=("tiny.h",),
    reason="a test",
)


def library_sdist(directory: Path, **changed: str) -> Path:
    """Create the sdist; `changed` replaces texts of its files, by file name with "_" for "." and "/"."""
    path = directory / "tiny_library-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in MEMBERS.items():
            content = changed.get(name.replace(".", "_").replace("/", "_"), text).encode()
            info = tarfile.TarInfo(f"tiny_library-1.0/src/tiny/{name}")
            info.size, info.mode = len(content), 0o755
            archive.addfile(info, io.BytesIO(content))
    return path


def library_request(
    directory: Path,
    sdist: Path,
    *,
    source: StaticSource = SOURCE,
    cflags: tuple[str, ...] = ("-O2",),
    compiler: Compiler | None = None,
    **changes: Any,
) -> BuildRequest:
    """Return a request for a build that links the library as "tiny"; `changes` are fields of the request."""
    compiler = compiler or observe_compiler((), os.environ)
    assert compiler is not None, "these tests need a C compiler"
    directory.mkdir(parents=True, exist_ok=True)
    recipe = replace(build_recipe(), libraries={"tiny": NativeRequirement(header="tiny.h", link="tiny", static=source)})
    fields = {"compiler": compiler, "variables": {"PATH": os.environ["PATH"]}, "statics": {"tiny": sdist}, **changes}
    return build_request(directory, recipe=recipe, step=build_step(targets=(replace(V3, cflags=cflags),)), **fields)
