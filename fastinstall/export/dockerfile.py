"""A Dockerfile from a plan for elsewhere. Pure.

It has a builder stage that compiles, and a final stage that does not. It uses only what every builder understands: no
cache mount, no here-document, no flag of an instruction but `COPY --from`. Source: the Dockerfile reference; the
annotations of the OCI image specification.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from fastinstall.core.messages import quote
from fastinstall.doctor.registry import verifying_checks
from fastinstall.export.plan_elsewhere import PlanExport, Wheelhouse
from fastinstall.model.request import Risk

_EPOCH = 315532800  # 1980-01-01, the first day that a zip archive can hold
_USER = "10001:10001"
_TOOL = quote("/opt/fastinstall")
_APART = "# The tool, in an environment of its own that stays behind."
_PROGRAM = f"{_TOOL}/bin/fastinstall"
_WHEELS = quote("/wheelhouse")
_MORE = " \\\n    "
_DEEPER = f"{_MORE}    "
_UNPLANNED = '|| { echo "it was not made from ${each}: make this file again" >&2; exit 1; }; done'
_AND = f"{_MORE}&& "


def dockerfile(export: PlanExport, wheelhouse: str = "") -> str:
    """The text of the file.

    Args:
        export: what was decided.
        wheelhouse: its directory relative to the build's context; empty if there is none.
    """
    parts = (
        _write_head(export),
        _write_builder(export, wheelhouse),
        _write_environment(export),
        _write_final_stage(export),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _write_head(export: PlanExport) -> Iterator[str]:
    yield f"# {export.distribution} {export.version} for Python {export.python}."
    yield f"# Made by: {export.command}"
    yield "#"
    yield "#     docker build --platform linux/amd64 --tag fast-images ."
    yield "#"
    yield "# A tag moves; what it points to today has a digest, and with it a rebuild begins from the same files:"
    yield "#     --build-arg PYTHON_IMAGE=python@sha256:..."
    yield ""
    yield f"ARG PYTHON_IMAGE=python:{export.python}-slim-bookworm"
    yield ""


def _write_builder(export: PlanExport, wheelhouse: str) -> Iterator[str]:
    yield "FROM ${PYTHON_IMAGE} AS builder"
    yield "# The tool, and an index other than the public one."
    yield f"ARG FASTINSTALL={export.tool.requirement}"
    yield "ARG PIP_INDEX_URL"
    yield "# No file bears the time of the build, where that can be had."
    yield f"ARG SOURCE_DATE_EPOCH={_EPOCH}"
    yield _MORE.join(("ENV SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH}", "PIP_NO_CACHE_DIR=1"))
    yield ""
    yield from (
        _from_wheelhouse(export, export.wheelhouse, wheelhouse) if export.wheelhouse else _write_compile_stage(export)
    )


def _from_wheelhouse(export: PlanExport, there: Wheelhouse, wheelhouse: str) -> Iterator[str]:
    yield "# Made by: fastinstall build -o DIR --with-tool"
    yield f"ARG WHEELHOUSE={wheelhouse}"
    yield f"COPY ${{WHEELHOUSE}} {_WHEELS}"
    yield "# What was planned is what lies there."
    yield f"ARG WHEEL_SHA256={there.wheel.sha256}"
    sums = f'RUN echo "${{WHEEL_SHA256}}  {_WHEELS}/{there.wheel.filename}" > /tmp/SHA256SUMS'
    yield _AND.join((sums, "sha256sum --check --quiet /tmp/SHA256SUMS"))
    yield ""
    yield from _write_tool_of_wheelhouse() if there.has_tool else _write_tool(export)


def _write_compile_stage(export: PlanExport) -> Iterator[str]:
    if export.packages:
        yield "# Debian keeps no earlier versions of its packages, so a version here would soon be a build that fails."
        yield "# hadolint ignore=DL3008"
        install = _DEEPER.join(("apt-get install --yes --no-install-recommends", *_wrap_words(export.packages)))
        yield _AND.join(("RUN apt-get update", install, "rm -rf /var/lib/apt/lists/*"))
        yield ""
    yield from _write_tool(export)
    yield "# Compiled and proven; the same inputs give the same bytes."
    command = f"RUN {_PROGRAM} build --quiet -o {_WHEELS} --python python3"
    yield _MORE.join((command, *_pair_flags(_select_build_flags(export))))
    yield ""


def _write_tool(export: PlanExport) -> Iterator[str]:
    yield _APART
    install = f'{_TOOL}/bin/python -m pip install --quiet --no-compile "${{FASTINSTALL}}"'
    yield _AND.join((f"RUN python3 -m venv {_TOOL}", _DEEPER.join((install, *_wrap_words(export.tool.pins)))))
    yield ""


def _write_tool_of_wheelhouse() -> Iterator[str]:
    """By the pip that lies there, run as it is: the base image need not have one."""
    yield _APART
    install = f'python3 -I "${{1}}/pip" --python {_TOOL}/bin/python install --quiet --no-compile'
    wanted = f'--no-index --find-links {_WHEELS}/tool "${{FASTINSTALL}}"'
    made = (f"RUN set -- {_WHEELS}/tool/pip-*.whl", f"python3 -m venv --without-pip {_TOOL}")
    yield _AND.join((*made, _DEEPER.join((install, wanted))))
    yield ""


def _write_environment(export: PlanExport) -> Iterator[str]:
    prefix = quote(export.prefix)
    yield "# The environment, with what else is to be in it, as pip takes it: PACKAGES='torch==2.9.1 torchvision'."
    yield 'ARG PACKAGES=""'
    install = f"xargs --no-run-if-empty {prefix}/bin/python -m pip install --quiet < /tmp/packages.txt"
    yield _AND.join((f"RUN python3 -m venv {prefix}", 'echo "${PACKAGES}" > /tmp/packages.txt', install))
    yield ""
    if export.sources:
        yield "# What it has to be made from, by sha256; with SOURCES='' it may be whatever is the newest by then:"
        yield from (f"#   {each.filename}" for each in export.sources)
        yield f'ARG SOURCES="{_MORE.join(each.sha256 for each in export.sources)}"'
    yield "# The last line takes away what was moved aside for a rollback, which nobody makes in an image."
    yield f"RUN {_AND.join(_set_up(export, prefix))}"
    yield ""


def _set_up(export: PlanExport, prefix: str) -> Iterator[str]:
    """The commands that put the stack in, and look whether it is what was planned."""
    offline = f"{_PROGRAM} setup --yes --quiet --offline --wheelhouse {_WHEELS} --prefix {prefix}"
    yield _DEEPER.join((offline, *_pair_flags(export.flags)))
    if export.sources:
        inside = f"{prefix}/lib/python{export.python}/site-packages"
        metadata = f"{export.distribution.replace('-', '_')}-{export.version}.dist-info"
        told = f'grep --quiet "${{each}}" {inside}/{metadata}/fastinstall.json'
        yield _DEEPER.join(("for each in ${SOURCES}; do", told, _UNPLANNED))
    yield f"{_PROGRAM} doctor --quiet {_choose_checks(export)} --prefix {prefix}"
    yield f"rm -r {prefix}/share/fastinstall/tx"


def _choose_checks(export: PlanExport) -> str:
    """What doctor is asked; where vulnerabilities were accepted, they fail nothing."""
    if Risk.VULNERABLE in export.wish.allow:
        return f"--fail-on error {' '.join(verifying_checks())}"
    return "--fail-on warning"


def _write_final_stage(export: PlanExport) -> Iterator[str]:
    prefix = export.prefix
    yield "FROM ${PYTHON_IMAGE}"
    yield f"LABEL {_MORE.join(_list_labels(export))}"
    yield f"COPY --from=builder {prefix} {prefix}"
    yield _MORE.join((f"ENV PATH={prefix}/bin:${{PATH}}", *_write_pin_lines(export, prefix)))
    yield f"USER {_USER}"
    yield 'CMD ["python3"]'


def _list_labels(export: PlanExport) -> Iterator[str]:
    yield f'org.opencontainers.image.title="{export.distribution} {export.version}"'
    yield f'org.opencontainers.image.description="Pillow with SIMD kernels for Python {export.python}"'
    yield 'org.opencontainers.image.licenses="MIT-CMU"'
    yield f'fastinstall.recipe="{export.wish.recipe}"'
    yield f'fastinstall.version="{export.tool.requirement.rpartition("=")[2]}"'


def _write_pin_lines(export: PlanExport, prefix: PurePath) -> Iterator[str]:
    """What holds uv to the stack, which reads no pip.conf."""
    if export.wish.pin:
        yield f"UV_CONSTRAINT={prefix}/share/fastinstall/pin/constraints.txt"
        yield f"UV_FIND_LINKS={prefix}/share/fastinstall/pin/wheels"


def _select_build_flags(export: PlanExport) -> tuple[str, ...]:
    """Without what is of an environment."""
    return tuple(word for word in export.flags if word not in ("--pin", "--no-guard"))


def _pair_flags(words: Iterable[str]) -> Iterator[str]:
    """A flag with its value, for a line each."""
    line = ""
    for word in words:
        if word.startswith("--") and line:
            yield line
            line = ""
        line = f"{line} {quote(word)}".strip()
    if line:
        yield line


def _wrap_words(words: Iterable[str], width: int = 100) -> Iterator[str]:
    """Words side by side, in lines that can be read."""
    line = ""
    for word in words:
        if line and len(line) + len(word) >= width:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    if line:
        yield line
