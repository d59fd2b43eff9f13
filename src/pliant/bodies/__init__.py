"""Links turned into constant data: mode shapes, beam elements, reduction, inertia invariants."""
