"""Methods that advance the equations of motion, one per file, behind one small interface."""
