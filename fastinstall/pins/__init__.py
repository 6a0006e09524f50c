"""Pin projects to the stack: prepare and try the change, and recognise pins; `tools` has a class for each tool."""
