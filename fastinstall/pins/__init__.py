"""Pin projects to the stack: prepare and try a pin, and recognise existing pins; `tools` has a class per tool."""
