"""Guarded functions, compiled without a warning and run: each side of a condition gives its own result."""

import shutil
import subprocess
from pathlib import Path

import pytest
from needs import require_system

from fastinstall.cmerge.documents import GuardedFunction
from fastinstall.cmerge.runtime_guards import apply_guards

HEADER = """\
int declared_elsewhere(int a);
int filter(const int *values, int (*weigh)(int), int size);
void fill(int out[4], int size);
int answer(void);
"""
UPSTREAM = """\
#include "image.h"

#define SHIFT 1
typedef struct { int value; } cell;
static const cell table[3] = {{SHIFT}, {2}, {3}};

static int forward(int a);

int
filter(const int *values, int (*weigh)(int), int size) {
    return weigh(values[0] << SHIFT) + forward(size) + declared_elsewhere(size) + table[1].value;
}

void
fill(int out[4], int size) {
    for (int i = 0; i < 4; i++) {
        out[i] = size + SHIFT;
    }
}
#undef SHIFT

#ifdef WIDE
static int wide(void) { return 40; }
#else
static int wide(void) { return 4; }
#endif

int
answer(void) {
    return wide();
}

int
declared_elsewhere(int a) {
    return a;
}

static int
forward(int a) {
    return 10 * a;
}
"""
CHANGES = (
    ("#define SHIFT 1", "#define SHIFT 3"),
    ("typedef struct { int value; } cell;", "typedef struct { short value; } cell;"),
    ("return 10 * a;", "return 20 * a;"),
    ("return a;", "return 1000 * a;"),
    ("return 4;", "return 5;"),
)
PROGRAM = """\
#include <stdio.h>
#include "image.h"
static int same(int a) { return a; }
int main(void) {
    int values[1] = {100}, out[4];
    fill(out, 7);
    printf("%d %d ", filter(values, same, 1), filter(values, same, 2));
    printf("%d ", out[3]);
    fill(out, 8);
    printf("%d %d", out[3], answer());
    return 0;
}
"""
RULES = (("filter", "size > 1"), ("fill", "size > 7"), ("answer", "0"))


def merged() -> str:
    text = UPSTREAM
    for before, after in CHANGES:
        assert before in text
        text = text.replace(before, after)
    return text


def guarded() -> str:
    rules = [GuardedFunction(file="image.c", function=name, condition=test, reason="a test") for name, test in RULES]
    found = apply_guards(UPSTREAM, merged(), rules)
    assert found.applied == ("filter", "fill", "answer")
    return found.text


def printed(source: str, directory: Path, *flags: str) -> list[int]:
    compiler = shutil.which("cc")
    require_system(compiler, "a C compiler")
    for name, text in (("image.h", HEADER), ("image.c", source), ("main.c", PROGRAM)):
        (directory / name).write_text(text, encoding="utf-8")
    command = [str(compiler), "-Wall", "-Wextra", "-Werror", *flags, "image.c", "main.c", "-o", "program"]
    subprocess.run(command, cwd=directory, check=True)
    return [
        int(word) for word in subprocess.run([directory / "program"], capture_output=True, check=True).stdout.split()
    ]


@pytest.mark.parametrize(("flags", "last"), [((), 4), (("-DWIDE",), 40)])
def test_each_side_of_a_condition_gives_its_own_result(flags: tuple[str, ...], last: int, tmp_path: Path) -> None:
    upstream, kernels = 200 + 10 + 1 + 2, 800 + 40 + 2000 + 2
    assert printed(guarded(), tmp_path, *flags) == [upstream, kernels, 7 + 1, 8 + 3, last]


def test_without_guards_the_merge_runs_always(tmp_path: Path) -> None:
    assert printed(merged(), tmp_path) == [800 + 20 + 1000 + 2, 800 + 40 + 2000 + 2, 10, 11, 5]
