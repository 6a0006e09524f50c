"""A Dockerfile from a plan for elsewhere. Pure.

It has a builder stage that compiles, and a final stage that does not. It uses only what every builder understands: no
cache mount, no here-document, no flag of an instruction but `COPY --from`. Source: the Dockerfile reference; the
annotations of the OCI image specification.
"""

import textwrap
from collections.abc import Iterable

from fastinstall.core.messages import quote
from fastinstall.doctor.registry import verifying_checks
from fastinstall.export.plan_elsewhere import PlanExport, Wheelhouse
from fastinstall.model.request import Risk

_EPOCH = 315532800  # 1980-01-01, the first day that a zip archive can hold
_MORE = " \\\n    "
_DEEPER = f"{_MORE}    "
_AND = f"{_MORE}&& "


def dockerfile(export: PlanExport, wheelhouse: str = "") -> str:
    """The text of the file.

    Args:
        export: what was decided.
        wheelhouse: its directory relative to the build's context; empty if there is none.
    """
    return f"""\
# {export.distribution} {export.version} for Python {export.python}.
# Made by: {export.command}
#
#     docker build --platform linux/amd64 --tag fast-images .
#
# A tag moves; what it points to today has a digest, and with it a rebuild begins from the same files:
#     --build-arg PYTHON_IMAGE=python@sha256:...

ARG PYTHON_IMAGE=python:{export.python}-slim-bookworm

FROM ${{PYTHON_IMAGE}} AS builder
# The tool, and an index other than the public one.
ARG FASTINSTALL={export.tool}
ARG PIP_INDEX_URL
# No file bears the time of the build, where that can be had.
ARG SOURCE_DATE_EPOCH={_EPOCH}
ENV SOURCE_DATE_EPOCH=${{SOURCE_DATE_EPOCH}} \\
    PIP_NO_CACHE_DIR=1

{_take_wheel(export, export.wheelhouse, wheelhouse) if export.wheelhouse else _compile_wheel(export)}
{_make_environment(export)}
FROM ${{PYTHON_IMAGE}}
LABEL org.opencontainers.image.title="{export.distribution} {export.version}" \\
    org.opencontainers.image.description="Pillow with SIMD kernels for Python {export.python}" \\
    org.opencontainers.image.licenses="MIT-CMU" \\
    fastinstall.recipe="{export.wish.recipe}" \\
    fastinstall.version="{export.tool.rpartition("=")[2]}"
COPY --from=builder {export.prefix} {export.prefix}
ENV {_MORE.join(_list_variables(export))}
USER 10001:10001
CMD ["python3"]
"""


def _take_wheel(export: PlanExport, there: Wheelhouse, wheelhouse: str) -> str:
    return f"""\
# Made by: fastinstall build -o DIR --with-tool
ARG WHEELHOUSE={wheelhouse}
COPY ${{WHEELHOUSE}} /wheelhouse
# What was planned is what lies there.
ARG WHEEL_SHA256={there.wheel.sha256}
RUN echo "${{WHEEL_SHA256}}  /wheelhouse/{there.wheel.filename}" > /tmp/SHA256SUMS \\
    && sha256sum --check --quiet /tmp/SHA256SUMS

{_install_tool(export)}"""


def _compile_wheel(export: PlanExport) -> str:
    flags = [word for word in export.flags if word not in ("--pin", "--no-guard")]  # those are of an environment
    packages = f"""\
# Debian keeps no earlier versions of its packages, so a version here would soon be a build that fails.
# hadolint ignore=DL3008
RUN apt-get update \\
    && apt-get install --yes --no-install-recommends{_wrap_words(export.packages)} \\
    && rm -rf /var/lib/apt/lists/*

"""
    return f"""{packages if export.packages else ""}{_install_tool(export)}
# Compiled and proven; the same inputs give the same bytes.
RUN {_MORE.join(("/opt/fastinstall/bin/fastinstall build --quiet -o /wheelhouse --python python3", *_pair(flags)))}
"""


def _install_tool(export: PlanExport) -> str:
    """The tool; of a wheelhouse by the pip that lies there, run as it is: the base image need not have one."""
    by_index = f"""\
RUN python3 -m venv /opt/fastinstall \\
    && /opt/fastinstall/bin/python -m pip install --quiet --no-compile "${{FASTINSTALL}}"{_wrap_words(export.tool_pins)}
"""
    by_wheelhouse = """\
RUN set -- /wheelhouse/tool/pip-*.whl \\
    && python3 -m venv --without-pip /opt/fastinstall \\
    && python3 -I "${1}/pip" --python /opt/fastinstall/bin/python install --quiet --no-compile \\
        --no-index --find-links /wheelhouse/tool "${FASTINSTALL}"
"""
    brought = export.wheelhouse is not None and export.wheelhouse.has_tool
    told = "# The tool, in a separate environment that stays behind.\n"
    return told + (by_wheelhouse if brought else by_index)


def _make_environment(export: PlanExport) -> str:
    """What puts the stack in, and looks whether it is what was planned."""
    prefix, program = quote(export.prefix), "/opt/fastinstall/bin/fastinstall"
    # Where vulnerabilities were accepted, they fail nothing.
    vulnerable = Risk.VULNERABLE in export.wish.allow
    failing = f"error {' '.join(verifying_checks())}" if vulnerable else "warning"
    setup = f"{program} setup --yes --quiet --offline --wheelhouse /wheelhouse --prefix {prefix}"
    commands = [
        _DEEPER.join((setup, *_pair(export.flags))),
        f"{program} doctor --quiet --fail-on {failing} --prefix {prefix}",
        f"rm -r {prefix}/share/fastinstall/tx",
    ]
    sources = ""
    if export.sources:
        metadata = f"{export.distribution.replace('-', '_')}-{export.version}.dist-info"
        inside = f"{prefix}/lib/python{export.python}/site-packages/{metadata}/fastinstall.json"
        commands.insert(
            1,
            f"""\
for each in ${{SOURCES}}; do \\
        grep --quiet "${{each}}" {inside} \\
        || {{ echo "it was not made from ${{each}}: make this file again" >&2; exit 1; }}; done""",
        )
        files = "".join(f"#   {each.filename}\n" for each in export.sources)
        sources = f"""\
# What it has to be made from, by sha256; with SOURCES='' it may be whatever is the newest by then:
{files}ARG SOURCES="{_MORE.join(each.sha256 for each in export.sources)}"
"""
    return f"""\
# The environment, with what else is to be in it, as pip takes it: PACKAGES='torch==2.9.1 torchvision'.
ARG PACKAGES=""
RUN python3 -m venv {prefix} \\
    && echo "${{PACKAGES}}" > /tmp/packages.txt \\
    && xargs --no-run-if-empty {prefix}/bin/python -m pip install --quiet < /tmp/packages.txt

{sources}# The last line takes away what was moved aside for a rollback, which nobody makes in an image.
RUN {_AND.join(commands)}
"""


def _list_variables(export: PlanExport) -> tuple[str, ...]:
    """PATH, and what holds uv to the stack, which reads no pip.conf."""
    pin = f"{export.prefix}/share/fastinstall/pin"
    uv = (f"UV_CONSTRAINT={pin}/constraints.txt", f"UV_FIND_LINKS={pin}/wheels") if export.wish.pin else ()
    return (f"PATH={export.prefix}/bin:${{PATH}}", *uv)


def _pair(words: Iterable[str]) -> list[str]:
    """Each flag with its value."""
    lines: list[str] = []
    for word in words:
        if word.startswith("--") or not lines:
            lines.append(quote(word))
        else:
            lines[-1] += f" {quote(word)}"
    return lines


def _wrap_words(words: Iterable[str]) -> str:
    """Words side by side, in lines that can be read, each in a line of its own below what is before."""
    lines = textwrap.wrap(" ".join(words), 100, break_long_words=False, break_on_hyphens=False)
    return "".join(f"{_DEEPER}{line}" for line in lines)
