"""Motion in time: studies, runs, what is followed along them, integrators, checkpoints."""
