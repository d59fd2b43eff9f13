"""Motion in time: trajectories, drives, loads, integrators, events, checkpoints."""
