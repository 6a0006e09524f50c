"""One file for each way to keep images otherwise than as they came; found by their files, run inside the target.

What measures a store and what a user is given to make it for good is the same code: `store_scripts.py` prints a file
of this package as a script that stands by itself, with what it imports from its neighbours in it. So a file here
imports nothing but the standard library and names of its neighbours (`from .preparing import ...`) when it is imported,
and runs on Python 3.8 or later. It has:

- `NAME`, the file's name; `TITLE` for people; `CAVEAT`: what a reader has to know before choosing it;
- `MODULES`, if any: what has to be importable; `BRINGS`: the requirements that bring them;
- `IN_FILES = True`, if each image has a file of its own, so that any loader can read it;
- `SETTINGS`, if any: which of "shorter" and "filter" decide what it holds;
- `PRIORITY`: its place among all candidates where time is short, the least first; among stores, what takes most room
  comes last;
- `most_bytes(image, wanted)`, unless images stay as they are: how many bytes an image takes at most, told before it is
  made from `image.width`, `image.height` and `image.size_bytes`; it is not part of the script;
- `make(images, out, wanted)`: puts images into the directory `out`, and goes on where it was interrupted; gives
  (name, bytes, trouble) for each, trouble empty unless it was left out;
- `Reader(path)`: `len()`, `read(index)`, `name(index)`, `path(index)` where it has files, `paths` (what it lies in),
  `close()`. It opens nothing before it is read from, and opens for itself in every process.

A file without `NAME` is shared by others.
"""
