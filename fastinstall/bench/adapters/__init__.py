"""Ways to decode and resize an image, one per file; an adapter is found by its file name, and runs inside the target.

The file's name, with hyphens, is the adapter's name; a leading underscore marks shared code. Each file runs on Python
3.8 or later, and at import needs only the standard library and this package. The file of an adapter has:

- `TITLE`: the adapter's name for people; `MODULES`: modules that must be importable; `CODE`: a line of code that shows
  its use;
- `BRINGS`: the requirements that provide the modules; `BY_HAND`, optional: why fastinstall never fetches them;
  `SDISTS`, optional: those requirements that are only published as source distributions, in pure Python;
- `FORMATS`, optional: the formats that the adapter decodes, by Pillow's names; by default all that Pillow opens;
- `ALIASED`, optional: whether the resize skips pixels, so that the picture differs;
- `SCALES`, optional: the size from which the adapter reduces an image before the resize, as a multiple of the requested
  size;
- `PRIORITY`, optional: the adapter's place in the order of measurement, which matters when time is short: lower numbers
  come earlier;
- `LOADER`: the source of a module with a function `load(path)`, which returns an RGB array of height x width x 3 bytes,
  or a Pillow image. The names `SHORTER`, `CROP` (0 for none) and `FILTER` are assigned before the source runs. The user
  gets the same code that was measured. At import it loads no image and starts no thread, because a pool may fork later;
- in `LOADER`, if it loads whole batches: `batches(lists, threads, size, ahead)`, which yields the pictures of each list
  of at most `size` paths, in order. It uses `threads` threads of its own, and loads ahead if `ahead` is true;
- in `LOADER`, if its stages can be timed separately: `decode` (of a file's bytes), `convert`, `resize`, `crop`. Each
  takes the result of the previous one, and `load` calls them;
- `versions()`, if `MODULES` does not suffice: names and versions of the packages involved;
- `trouble()`, optional: returns why the adapter cannot run although its modules are installed ("no NVIDIA GPU"); empty
  if it can.

Adapters without `batches` load on one thread, like a DataLoader's worker with its own CPU. All adapters drop an alpha
channel, as Pillow's `convert("RGB")` does, and ignore the EXIF orientation, except that Pillow applies it to TIFF. If a
library lacks the requested filter, the adapter uses the nearest one, and the adapter's docstring says so.
"""
