"""One file per way to decode and resize an image; discovered by file name, run inside the target.

The file's name, with hyphens, is the adapter's name. A name with a leading underscore is shared code. At import, a file
imports only the standard library and its neighbours, and it runs on Python 3.8 or later. An adapter has:

- `TITLE` for people; `MODULES`: what must be importable; `CODE`: the line of code that uses it;
- `BRINGS`: the requirements that provide the modules; `BY_HAND`, if any: why they are never fetched; `SDISTS`: those
  that are only published as source distributions, and compile nothing;
- with defaults: `FORMATS`: what it decodes, by Pillow's names, else whatever Pillow opens; `ALIASED`: whether its
  resize skips pixels, so that the picture differs; `SCALES`: how many times the requested size an image must have to be
  decoded partly; `PRIORITY`: its place among all candidates when time is short, the lowest first;
- `LOADER`: a module with a function `load(path)`, which returns an array of height x width x 3 bytes, RGB, or a Pillow
  image. The names `SHORTER`, `CROP` (0 for none) and `FILTER` are assigned before it. The user gets the code that was
  measured. At import it loads nothing and starts no thread, because a pool may fork after it;
- if it loads whole batches, in `LOADER` too: `batches(lists, threads, size, ahead)`: arrays of batch after batch, in
  order, from lists of at most `size` paths, on this number of its own threads, loading ahead if `ahead`;
- if its stages can be timed, in `LOADER` too: `decode` (from a file's bytes), `convert`, `resize` and `crop`, which
  take each other's results, and which `load` calls;
- `versions()`, if `MODULES` does not suffice: names and versions of the packages involved;
- `trouble()`, optional: why it cannot run here although its modules are installed ("no NVIDIA GPU"); empty if it can.

All but those with batches load on one thread, like a DataLoader's worker with its own CPU. They drop an alpha channel,
as Pillow's `convert("RGB")` does, and do not turn pictures by their EXIF orientation; only Pillow does, with TIFF. If a
library lacks the filter, the nearest one is used, and the adapter says so.
"""
