"""The equations of motion: what one link does in each pass, and the loops over the tree."""
