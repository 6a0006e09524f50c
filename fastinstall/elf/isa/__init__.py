"""What machine code asks of a CPU, instruction by instruction."""
