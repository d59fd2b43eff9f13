"""CAD files of the tests, made by netgen: lengths in mm."""

import numpy as np


def drilled_bar(path, *, name=""):
    """A bar 200 x 30 x 20 from x = 0 with a hole of radius 6 through its middle along z."""
    from netgen.occ import Box, Cylinder, Pnt, Z

    shape = Box(Pnt(0, -15, -10), Pnt(200, 15, 10)) - Cylinder(Pnt(100, 0, -20), Z, r=6, h=40)
    for face in shape.faces:
        if name and abs(face.center.x - 200) < 1e-6:
            face.name = name
    shape.WriteStep(str(path))
    return path


def plain_bar(path):
    """A bar 200 x 30 x 20 from x = 0, which takes few elements."""
    from netgen.occ import Box, Pnt

    Box(Pnt(0, -15, -10), Pnt(200, 15, 10)).WriteStep(str(path))
    return path


def flanged_tube(path, scale=1.0):
    """The tube of the reference table: radii 50 and 45, length 600, flanges, three pairs of holes."""
    from netgen.occ import Cylinder, Pnt, X, Z

    def along(x0, x1, r):
        return Cylinder(Pnt(scale * x0, 0, 0), X, r=scale * r, h=scale * (x1 - x0))

    shape = along(0, 600, 50) + along(0, 12, 70) + along(588, 600, 70)
    shape = shape - along(-1, 601, 45)
    for x in (150, 300, 450):
        shape = shape - Cylinder(Pnt(scale * x, 0, -scale * 100), Z, r=scale * 18, h=scale * 200)
    shape.WriteStep(str(path))
    return path


def box_triangles(size=(200.0, 30.0, 20.0)):
    """The surface of a box as twelve triangles that face outwards."""
    x = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) * np.array(size)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array([x[[a, b, c]] for q in quads for a, b, c in ((q[0], q[1], q[2]), (q[0], q[2], q[3]))])
