"""From tapes to what runs: machine code through LLVM, replay in NumPy, C."""
