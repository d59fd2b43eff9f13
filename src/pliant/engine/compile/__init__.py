"""From tapes to machine code: LLVM assembly for one state, lanes and tangents, its compilation and cache; C."""
