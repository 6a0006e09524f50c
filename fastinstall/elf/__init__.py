"""Read ELF files without loading them: their contents, needed libraries, and the CPU features that they require."""
