"""Pin projects to the stack: try a pin, write it into the manifest, and recognise it; `tools/` has a class per tool."""
