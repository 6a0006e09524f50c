"""How a static library is compiled, read from the makefiles of its source."""

from pathlib import Path

import pytest

from fastinstall.core.errors import FailedError
from fastinstall.wheelbuild.static_libraries import MakefileCompilation, compile_steps

TOP = r"""
CC=cc
CFLAGS=-O
CFLAGS=-O2 -DX='"a b"' \
  -DY
ARCHDIR=arch/x86
ARCH_OBJS= fast.o
STATICLIB = libtiny.a
OBJS = plain.o \
	special.o \
	arch/generic/slow.o \
	$(ARCH_OBJS)

all: $(STATICLIB)

$(STATICLIB): $(OBJS)
	ar rc $@ $(OBJS)

special.o: special.c
	$(CC) ${CFLAGS} -DSPECIAL -c -o $@ $<

%.o: %.c
	$(CC) $(CFLAGS) $(NOT_SET) -c -o $@ $<

$(ARCHDIR)/%.o: $(ARCHDIR)/%.c
	$(MAKE) -C $(ARCHDIR) $(notdir $@)
"""
BELOW = """
CC=cc
FLAG=-mavx2
SRC=.

{name}.o: $(SRC)/{name}.c
	$(CC) $(FLAG) -c -o $@ $(SRC)/{name}.c
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("plain.c", "special.c"):
        (tmp_path / name).write_text("")
    (tmp_path / "Makefile").write_text(TOP)
    for place, name in (("arch/x86", "fast"), ("arch/generic", "slow")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "Makefile").write_text(BELOW.format(name=name))
    return tmp_path


def step_for(source: Path, name: str) -> MakefileCompilation:
    return next(step for step in compile_steps(source, "libtiny.a") if step.output.name == name)


def test_steps_come_in_the_order_of_the_archive(source: Path) -> None:
    names = [step.output.relative_to(source).as_posix() for step in compile_steps(source, "libtiny.a")]
    assert names == ["plain.o", "special.o", "arch/generic/slow.o", "arch/x86/fast.o"]


def test_the_pattern_serves_objects_without_a_rule_of_their_own(source: Path) -> None:
    expected = ("cc", "-O2", '-DX="a b"', "-DY", "-c", "-o", "plain.o", str(source / "plain.c"))
    assert step_for(source, "plain.o").argv == expected


def test_a_rule_for_one_object_goes_before_the_pattern(source: Path) -> None:
    assert "-DSPECIAL" in step_for(source, "special.o").argv


def test_subdirectory_objects_are_compiled_there_with_its_flags(source: Path) -> None:
    slow, fast = step_for(source, "slow.o"), step_for(source, "fast.o")
    assert (slow.directory, fast.directory) == (source / "arch/generic", source / "arch/x86")
    assert fast.argv == ("cc", "-mavx2", "-c", "-o", "fast.o", "./fast.c")


def test_an_archive_without_a_rule_is_an_error_that_names_it(source: Path) -> None:
    with pytest.raises(FailedError, match=r"no rule for libother\.a"):
        compile_steps(source, "libother.a")


def test_an_object_that_nothing_compiles_fails_with_its_name(source: Path) -> None:
    (source / "plain.c").unlink()
    with pytest.raises(FailedError, match=r"no rule for plain\.o"):
        compile_steps(source, "libtiny.a")


def test_a_missing_makefile_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="Makefile"):
        compile_steps(tmp_path, "libtiny.a")


def _makefile(directory: Path, text: str) -> Path:
    directory.mkdir()
    (directory / "Makefile").write_text(text)
    (directory / "x.c").touch()
    return directory


@pytest.mark.parametrize("variable", ["A=$(A)", "A=$(B)\nB=$(A)", "A=$(B)$(B)\nB=$(A)$(A)", "A=x $(A) y"])
def test_a_variable_that_is_made_of_itself_is_refused_at_once(tmp_path: Path, variable: str) -> None:
    text = f"{variable}\nall.a: x.o\n\tar\n%.o: %.c\n\t$(CC) $(A) -c -o $@ $<\n"
    with pytest.raises(FailedError, match="cannot expand it"):
        compile_steps(_makefile(tmp_path / "source", text), "all.a")


def test_a_directory_with_any_name_is_one_word(tmp_path: Path) -> None:
    directory = _makefile(tmp_path / "a b;$(touch x)'\"", "CC=cc\nall.a: x.o\n\tar\n%.o: %.c\n\t$(CC) -c -o $@ $<\n")
    (step,) = compile_steps(directory, "all.a")
    assert step.argv == ("cc", "-c", "-o", "x.o", str(directory / "x.c"))


def test_a_rule_that_does_not_compile_hides_no_rule_that_does(tmp_path: Path) -> None:
    text = "CC=cc\nall.a: x.o\n\tar\nx.o: x.h\n\ttouch $@\n%.o: %.c\n\t$(CC) -c -o $@ $<\n"
    (step,) = compile_steps(_makefile(tmp_path / "source", text), "all.a")
    assert step.argv[:2] == ("cc", "-c")


def test_a_stray_quote_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="No closing quotation"):
        compile_steps(
            _makefile(tmp_path / "source", "CC=cc\nall.a: x.o\n\tar\n%.o: %.c\n\t$(CC) ' -c $@ $<\n"), "all.a"
        )
