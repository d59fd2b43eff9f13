"""The tree of links that methods walk: order, coordinates, constants, and what follows from kinematics alone."""
