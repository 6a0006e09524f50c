"""Files from the real compiler and linker, with all kinds of symbols that a reader of symbols must distinguish."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

VERSIONS = """
OLD_1 { global: scale; shown; shared; local; unsaid; };
NEW_2 { global: count; both; } OLD_1;
"""
LIBRARY = """
#include <math.h>
#include <stdlib.h>
#include <string.h>
extern int missing(int) __attribute__((weak));
__attribute__((visibility("protected"))) int shown(double *values) { return (int) pow(values[0], values[1]); }
__attribute__((visibility("hidden"))) int hidden(int x) { return x * 3; }
__attribute__((weak)) int both(char *to, const char *from) { memcpy(to, from, strlen(from)); return hidden(1); }
__thread int count = 7;
int shared = 5;
int scale_old(int x) { return x; }
int scale_new(int x) { return missing ? missing(x) : x + shared; }
__asm__(".symver scale_old, scale@OLD_1");
__asm__(".symver scale_new, scale@@NEW_2");
static int pick(int x) { return x; }
static void *choose(void) { return pick; }
int by_cpu(int x) __attribute__((ifunc("choose")));
char *copy(const char *text) { return text ? strdup(text) : getenv("HOME"); }
"""
PROGRAM = """
#include <stdio.h>
#include <string.h>
extern int shared;
extern char *copy(const char *);
char *(*kept)(const char *) = copy;
int main(int count, char **words) {
  fprintf(stderr, "%d %d\\n", shared, kept == copy);
  return (int) strlen(words[0]) - count;
}
"""
SHARED = ("-shared", "-fPIC", "-Wl,-soname,libone.so.1")
METADATA = '{"type":"wheel","name":"pillow","version":"12.1.1","levels":["v2","v3"]}'


def link_library(directory: Path, *flags: str) -> Path:
    """Link a library that defines symbol versions, and weak, protected, hidden, thread-local and IFUNC symbols."""
    script = directory / "versions.map"
    script.write_text(VERSIONS.replace("local; unsaid;", "by_cpu; copy; local: *;"))
    own = (*SHARED, f"-Wl,--version-script={script}")
    return _compile(directory / "libone.so.1", LIBRARY, (*own, *flags))


def link_plain_library(directory: Path, *flags: str) -> Path:
    """Link the library without versions."""
    source = "\n".join(line for line in LIBRARY.splitlines() if ".symver" not in line)
    return _compile(directory / "libplain.so", source, (*SHARED, *flags))


def link_program(directory: Path, library: Path, *flags: str) -> Path:
    """Link a program that has a copy of the library's data, and its own address for one of the library's functions."""
    return _compile(directory / "program", PROGRAM, ("-no-pie", "-fno-pie", *flags, str(library), "-lm"))


def _compile(path: Path, source: str, flags: Sequence[str]) -> Path:
    command = ["gcc", "-x", "c", "-", "-x", "none", "-o", str(path), *flags, "-lm"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return path
