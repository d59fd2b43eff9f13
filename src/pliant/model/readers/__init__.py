"""From files to descriptions: YAML, Denavit-Hartenberg tables, URDF, finite-element matrices."""
