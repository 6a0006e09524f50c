"""One file for each way to decode and resize an image; found by their files, run inside the target.

A file here imports nothing but the standard library when it is imported, and runs on Python 3.8 or later. One whose
name begins with an underscore is no adapter: others share it. An adapter has:

- `NAME`, in kebab case, the file's name with hyphens; `TITLE` for people;
- `MODULES`: what has to be importable; `BRINGS`: the requirements that bring them; `BY_HAND`, if it has one: why they
  are never brought;
- `CODE`: the line of code that uses it;
- what has a default: `FORMATS`: what it decodes, by Pillow's names, else whatever Pillow opens; `ALIASED`: whether its
  resize skips pixels, so that the picture is not the same; `SDISTS`: those of its requirements that are published as
  source distributions alone, and compile nothing; `SCALES`: how many times the wanted size an image must have for it to
  decode less; `PRIORITY`: its place among all candidates where time is short, the least first;
- `LOADER`: a module for the user's own code with a function `load(path)`, that does the same as the stages, by the
  names `SHORTER`, `CROP` (0 for none) and `FILTER`, which are assigned in front of it;
- `stages(wanted)`: imports its modules and gives (stage, function) in order: the first function takes the bytes of a
  file, each next one what the one before gave, the last one gives an array of height x width x 3 bytes, RGB. `wanted`
  has `shorter`, `crop` (0 for none), `filter`, and `array`: whether numpy is there, else the last one may give bytes.
  Stages are "decode", "convert", "resize", "crop", "array"; a library that does several at once names the first. It
  loads nothing and starts no thread yet, since a pool may fork after it;
- in place of `stages`, where `BATCHED` is true, in `LOADER`: `batches(lists, threads, size, ahead)`: arrays of batch
  after batch, in order, of lists of at most `size` paths, on so many threads of its own, and looking ahead if `ahead`;
- `versions()`, if those of `MODULES` are not enough: names and versions of the packages that take part;
- `trouble()`, if it has one: why it cannot run here though its modules are there ("no NVIDIA GPU"); empty if it can.

All others load on one thread, as a worker of a DataLoader has one CPU to itself; drop an alpha channel and keep a
picture as it lies, whatever Exif says of it, as Pillow's `convert("RGB")` does. Where a library has no such filter, the
nearest that it has is taken, and the adapter says so.
"""
