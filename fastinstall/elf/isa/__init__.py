"""Find the CPU features that machine code needs, instruction by instruction."""
