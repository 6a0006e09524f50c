"""The flags of `fastinstall bench`, as argparse sees them."""

import argparse


def add_images(parser: argparse.ArgumentParser) -> None:
    """The images that are loaded."""
    images = "images, or directories of them; without any, photos are generated"
    parser.add_argument("paths", metavar="DIR|FILE", nargs="*", help=images)


def add_bench(parser: argparse.ArgumentParser) -> None:
    """Everything but the target."""
    parser.add_argument("--quick", action="store_true", help="answer within 20 seconds")
    parser.add_argument("--only", choices=("loading", "operations"), help="one of its two halves")
    _loading(parser)
    _candidates(parser)
    _output(parser)


def _loading(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is loaded")
    generated = "which photos are generated: 500px, 12mp, png (default: all)"
    group.add_argument("--workload", metavar="NAME,...", help=generated)
    group.add_argument("--samples", metavar="N", help="how many images are measured")
    group.add_argument("--size", metavar="PIXELS", help="the shorter side after the resize (default: 256)")
    group.add_argument("--crop", metavar="PIXELS", help="the square cut out of the middle, 0 for none (default: 224)")
    filters = ("bilinear", "bicubic", "lanczos")
    group.add_argument("--filter", choices=filters, help="of the resize (default: bilinear)")
    group.add_argument("--workers", metavar="N,...", help="numbers of worker processes to try")
    group.add_argument("--target-rate", metavar="N", help="images a second that training takes")
    step = "measure that rate: a function that does one training step and returns how many images it took"
    group.add_argument("--step", metavar="FILE[:FUNCTION]", help=step)
    loader = "your own loader (path in, array out), to compare with"
    group.add_argument("--loader", metavar="FILE[:FUNCTION]", help=loader)


def _candidates(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what it is compared with")
    group.add_argument("--list", action="store_true", help="name the candidates and stop")
    group.add_argument("--candidates", metavar="NAME,...", help="only these (default: all that fit)")
    bring = "fetch packages of candidates into our cache, whatever is installed; all for every one"
    group.add_argument("--with", dest="bring", metavar="NAME,...", help=bring)
    group.add_argument("--no-build", action="store_true", help="do not make the fastinstall build for this")
    code = "print the code of a candidate, for your own loader, and stop"
    group.add_argument("--print-code", metavar="NAME", help=code)


def _output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where it goes")
    group.add_argument("--csv", metavar="FILE", help="all figures as a table")
    group.add_argument("--chart", metavar="FILE.png", help="a picture; needs the extra fastinstall[bench]")
    group.add_argument("--html", metavar="FILE", help="a page that stands by itself")
    export = "imread-benchmark=DIR or pillow-perf=FILE: in the form of that project; repeatable"
    group.add_argument("--export", metavar="FORMAT=PATH", action="append", default=[], help=export)
