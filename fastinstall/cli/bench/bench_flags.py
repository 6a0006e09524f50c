"""The flags of `fastinstall bench`, as argparse sees them; `bench_request` reads their values."""

import argparse


def add_images(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the images to load."""
    images = "images, or directories of them; without any, photos are generated"
    parser.add_argument("paths", metavar="DIR|FILE", nargs="*", help=images)


def add_bench(parser: argparse.ArgumentParser) -> None:
    """Add every flag of `bench` but those of the target."""
    parser.add_argument("--quick", action="store_true", help="answer within 20 seconds")
    parser.add_argument("--only", choices=("loading", "operations"), help="measure one of the two only")
    _add_loading_flags(parser)
    _add_candidate_flags(parser)
    _add_output_flags(parser)


def _add_loading_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is loaded")
    generated = "photos to generate: 500px, 12mp, png (default: all)"
    group.add_argument("--workload", metavar="NAME,...", help=generated)
    group.add_argument("--samples", metavar="N", help="how many images to measure")
    group.add_argument("--size", metavar="PIXELS", help="the shorter side after the resize (default: 256)")
    group.add_argument("--crop", metavar="PIXELS", help="the square cut out of the middle; 0: none (default: 224)")
    filters = ("bilinear", "bicubic", "lanczos")
    group.add_argument("--filter", choices=filters, help="of the resize (default: bilinear)")
    group.add_argument("--workers", metavar="N,...", help="how many worker processes to try")
    threads = "how many threads of one process to try, each up to an array"
    group.add_argument("--threads", metavar="N,...", help=threads)
    group.add_argument("--target-rate", metavar="N", help="images per second that training takes")
    loader = "your own loader, to compare with; path in, array out"
    group.add_argument("--loader", metavar="FILE[:FUNCTION]", help=loader)


def _add_candidate_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what it is compared with")
    group.add_argument("--list", action="store_true", help="list the candidates and stop")
    group.add_argument("--candidates", metavar="NAME,...", help="only these (default: all that fit)")
    bring = "download candidates into the cache first; whatever is installed; all: every one"
    group.add_argument("--with", dest="bring", metavar="NAME,...", help=bring)
    group.add_argument("--no-build", action="store_true", help="do not build the fast Pillow for this")
    code = "print the code of a candidate and stop"
    group.add_argument("--print-code", metavar="NAME", help=code)


def _add_output_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where it goes")
    group.add_argument("--html", metavar="FILE", help="write an HTML page, too")
