"""Di Gregorio's method: links of beam elements with a rigid body at every node, about a nominal rigid motion."""
