"""A fork's changes merged onto a later C source by the meaning of its code. Stands alone."""
