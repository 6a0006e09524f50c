"""The flags of `build` for machines of another architecture than this one."""

import argparse
import os
from pathlib import Path

from fastinstall.apply.wheel_only import Emulation
from fastinstall.core.architecture import ARCHITECTURES
from fastinstall.core.home import expand_home


def add_machine_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    machines = tuple(each.machine for each in ARCHITECTURES)
    machine = "for machines of this kind; it is what `uname -m` says there; default: this machine's"
    parser.add_argument("--machine", choices=machines, metavar="NAME", help=machine)
    emulated = "a Python of --machine that this machine can start, for the proof; once for each version"
    parser.add_argument("--emulated-python", action="append", default=[], metavar="EXE", help=emulated)
    unproven = "for another machine: build without comparing with the official wheel"
    parser.add_argument("--unproven", action="store_true", help=unproven)


def read_machine(arguments: argparse.Namespace) -> str:
    """Return the machine that is named, where it is of another architecture than this one; else an empty text."""
    machine = str(arguments.machine or "")
    return "" if machine == os.uname().machine else machine


def read_emulation(arguments: argparse.Namespace) -> Emulation:
    """Return how a wheel for another machine is proven."""
    pythons = tuple(Path(expand_home(each)) for each in arguments.emulated_python)
    return Emulation(pythons=pythons, unproven=arguments.unproven)
