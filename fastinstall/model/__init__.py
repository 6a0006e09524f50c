"""The values that flow through fastinstall: frozen, serialisable, free of input and output."""
