"""From machine code to callables: programs bound to constants, built-in functions of plain arrays, replay in NumPy."""
