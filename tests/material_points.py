"""A robot as material points, placed by the description and the shapes of its links, and how they move.

Nothing here is shared with the formulations. Positions are written once, for complex coordinates; velocities are their
complex-step derivatives, accelerations high-order differences of those.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from bent_points import BentAxis, shortening, shortening_of_pieces
from pliant.bodies.build import shape_sets
from pliant.bodies.elements import BendingElements, RigidPieces, RodElements

STEP = 1e-30
"""Complex step: no subtraction, so any tiny number will do."""

STENCIL = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
"""Central difference of order 8."""

NEGLIGIBLE = 1e-20
"""Of a sum of order one: far below rounding."""

GAUSS_POINTS = 30
"""Per smooth piece of a beam: far more than the shapes of the zoo need."""

# direction of the axis' displacement, and (direction, sign) of the section's turn, in each family
DISPLACES = {"bend_y": 1, "bend_z": 2, "axial": 0, "shear_y": 1, "shear_z": 2}
TURNS = {"bend_y": (2, 1.0), "bend_z": (1, -1.0), "torsion": (0, 1.0)}
STIFFNESS = {
    "bend_y": "EIz",
    "bend_z": "EIy",
    "torsion": "GJ",
    "axial": "EA",
    "shear_y": "kGAy",
    "shear_z": "kGAz",
}
SHEAR = {"bend_y": "kGAy", "bend_z": "kGAz"}


def hat(a):
    x, y, z = a
    return np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])


def turn(axis, angle):
    """Rotation about a unit vector (Rodrigues)."""
    K = hat(np.asarray(axis))
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def exponential(A):
    """The matrix exponential by its own series, until neither a term nor its derivative counts."""
    term = out = np.eye(3)
    size, bound, k = np.abs(A).sum(axis=-1).max(), 1.0, 1
    while bound > NEGLIGIBLE:
        term = term @ A / k
        out = out + term
        # the derivative of the next term has the size of this one
        bound *= size / k
        k += 1
    return out


def section_rotation(rule, theta):
    """The finite rotation of a section by its angles theta (3,), by one of the three rules."""
    if rule == "exponential":
        return exponential(hat(theta))
    if rule == "cayley":
        half = hat(theta) / 2
        return np.linalg.solve(np.eye(3) - half, np.eye(3) + half)
    x, y, z = np.eye(3)
    return turn(x, theta[0]) @ turn(y, theta[1]) @ turn(z, theta[2])


@dataclass
class Part:
    """One link: points r (p, 3) with masses, which move by phi (p, 3, n), and discs on turning sections.

    ``frames``: name -> (point, R, slides, Phi_r) of its section and its axes; ``offsets``: levers from there to frames.
    ``root`` is the turn of the root section per coordinate. Links that bend far have ``back``, q^T G q / 2 of points
    and sections, or ``axis``, the places of sections, with ``levers``.
    """

    name: str
    joint: object
    parent: str
    frame: str
    columns: np.ndarray
    elastic: np.ndarray
    masses: np.ndarray
    r: np.ndarray
    phi: np.ndarray
    frames: dict
    root: np.ndarray
    offsets: dict = field(default_factory=dict)
    discs: list = field(default_factory=list)
    rigid: list = field(default_factory=list)
    K: np.ndarray = None
    D: np.ndarray = None
    back: np.ndarray = None
    frames_back: dict = field(default_factory=dict)
    frames_turned: dict = field(default_factory=dict)
    axis: BentAxis = None
    levers: np.ndarray = None
    on_axis: dict = field(default_factory=dict)


def rigid_points(mass, com, inertia):
    """Points with given mass, centre of mass and inertia about it; the one in the middle may be negative."""
    second, axes = np.linalg.eigh(np.trace(inertia) / 2 * np.eye(3) - inertia)
    each = mass / 6 if mass else 1.0
    size = np.sqrt(np.maximum(second, 0.0) / (2 * each))
    pairs = [com + sign * size[k] * axes[:, k] for k in range(3) for sign in (1, -1)]
    return np.array([mass - 6 * each, *[each] * 6]), np.array([com, *pairs])


class MaterialPoints:
    """Where the points of a robot are, and their velocities, accelerations and Jacobians."""

    def __init__(self, robot, coordinates, damping=None, clouds=None):
        """``coordinates``: their names in order; ``clouds``: material points of links with modal data.

        ``damping``: link -> D of its elastic coordinates, which is data, not mechanics.
        """
        self.robot = robot
        self.index = {name: k for k, name in enumerate(coordinates)}
        self.size = len(coordinates)
        self._known_poses = {}
        self.gravity = np.array(robot.gravity)
        self.parts = [self._part(link, (clouds or {}).get(link.name)) for link in robot.links]
        self.by_name = {part.name: part for part in self.parts}
        for name, D in (damping or {}).items():
            self.by_name[name].D = D

    # ---- the description as points

    def _part(self, link, cloud):
        parent, frame = self.robot.parent_of(link.name)
        own = [k for name, k in self.index.items() if name.startswith(f"{link.name}.") and "." in name]
        joint = [self.index[name] for name in link.joint.coordinates]
        elastic = np.array([k for k in own if k not in joint], dtype=int)
        n = len(elastic)
        none = np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3, n))
        part = Part(link.name, link.joint, parent, frame, np.array(joint, dtype=int), elastic, *none, {}, None)
        part.K = part.D = np.zeros((n, n))
        if link.beam is not None:
            self._beam(part, link)
        elif link.modal is not None:
            part.masses, part.r, part.phi, *back = cloud
            part.back = back[0] if back else None
            part.K, part.D = link.modal.array("K_ee"), link.modal.array("D_ee")
            for name in link.frame_names:
                f = link.frame(name)
                part.frames[name] = (f.vector(), f.matrix(), *link.modal.frame_shapes(name))
                part.frames_back[name] = link.modal.frame_shortening(name)
                part.frames_turned[name] = link.modal.frame_turning(name)
        else:
            if link.rigid is not None:
                points = rigid_points(link.rigid.mass, link.rigid.com_vector(), link.rigid.inertia_matrix())
                part.masses, part.r = points
                part.phi = np.zeros((len(part.r), 3, n))
            for name in link.frame_names:
                f = link.frame(name)
                part.frames[name] = (f.vector(), f.matrix(), np.zeros((3, n)), np.zeros((3, n)))
        part.root = part.frames["root"][3]
        mounted = [("root", link.hub)] if link.hub else []
        for where, body in mounted + [(p.frame or "tip", p) for p in link.payloads]:
            points = rigid_points(body.mass, body.com_vector(), body.inertia_matrix())
            if part.back is not None and not np.ptp(points[1], axis=0).any() and self._on_axis(link, where):
                self._add_point(part, where, body.mass)
            else:
                part.rigid.append((where, *points))
        if part.back is not None:
            self._fit(part, link)
        return part

    @staticmethod
    def _on_axis(link, frame):
        return not link.frame(frame).vector().any()

    @staticmethod
    def _add_point(part, frame, mass):
        """A point mass on the axis of a second-order beam counts among its points."""
        position, _, Phi_d, _ = part.frames[frame]
        part.masses = np.append(part.masses, mass)
        part.r = np.concatenate([part.r, position[None]])
        part.phi = np.concatenate([part.phi, Phi_d[None]])
        part.back = np.concatenate([part.back, part.frames_back[frame][None]])

    @staticmethod
    def _fit(part, link):
        """Points of a second-order link move by a fit of that displacement which is linear in the place."""
        m = part.masses.copy()
        if link.beam is not None and link.beam.lumped is not None:
            # half an element at the root belongs to the clamp
            m[part.r[:, 0] < link.beam.length / link.beam.lumped.nodes / 2] = 0.0
        rows = np.concatenate([np.ones((len(m), 1)), part.r], axis=1) * (m > 0)[:, None]
        weights = np.sqrt(m)[:, None]
        fit = np.linalg.lstsq(weights * rows, weights * part.back.reshape(len(m), -1), rcond=None)[0]
        part.back = (rows @ fit).reshape(part.back.shape)
        if link.modal is not None:
            _keep_strongest(part, weights)

    def _beam(self, part, link):
        beam = link.beam
        n = len(part.elastic)
        sets = shape_sets(link, self.robot)
        moving = sets
        if beam.lumped is not None:
            moving = [RigidPieces(s.family, s.nodes) for s in sets if isinstance(s, BendingElements | RodElements)]
        breaks = set(np.round(beam.breakpoints, 12))
        for s in (*sets, *moving):
            breaks |= set(np.round(s.breaks, 12))
        x, weights = self._quadrature(sorted(breaks), beam.length)
        known = beam.at(x)
        dm = weights * known.mass_per_length
        u, theta = self._fields(moving, x, n)
        axis = np.stack([x, 0 * x, 0 * x], axis=1)
        sections = bool(beam.rotary_inertia) or "torsion" in beam.families
        if not sections:
            part.masses, part.r, part.phi = dm, axis, u
        else:
            # four points per section, at +-ly on y and +-lz on z
            ly, lz = (np.sqrt(2 * rho / known.mass_per_length) for rho in (known.rhoIz, known.rhoIy))
            levers = [np.stack([0 * x, a * ly, b * lz], axis=1) for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))]
            if beam.rotary_inertia == "exact":
                part.discs = [(dm / 4, axis, u, theta, s) for s in levers]
            else:
                part.masses = np.tile(dm / 4, 4)
                part.r = np.concatenate([axis + s for s in levers])
                part.phi = np.concatenate([u + np.cross(theta, s[:, :, None], axis=1) for s in levers])
        part.K = self._stiffness(sets, beam, x, weights, n)
        for name in link.frame_names:
            f = link.frame(name)
            u, theta = self._fields(sets, np.array([float(f.x or 0.0)]), n)
            part.frames[name] = (np.array([f.x or 0.0, 0, 0]), f.matrix(), u[0], theta[0])
            part.offsets[name] = f.vector()
        if beam.bending == "second-order":
            self._foreshorten(part, link, sets, x)
        elif beam.bending == "exact":
            self._follow(part, link, sets, x, dm)

    @staticmethod
    def _foreshorten(part, link, sets, x):
        """Points and sections of frames move back by the shortening of the axis."""
        n = len(part.elastic)
        part.back = np.zeros((len(part.r), 3, n, n))
        lumped = link.beam.lumped is not None
        G = shortening_of_pieces(sets, x, n, sets[0].nodes) if lumped else shortening(sets, x, n)
        part.back[:, 0] = np.tile(G, (len(part.r) // len(x), 1, 1))
        for name in link.frame_names:
            f = link.frame(name)
            Gamma = np.zeros((3, n, n))
            Gamma[0] = shortening(sets, np.array([float(f.x or 0.0)]), n)[0]
            part.frames_back[name] = Gamma

    def _follow(self, part, link, sets, x, dm):
        """Points on the bent axis, or four per section that turn with it."""
        beam = link.beam
        places = [float(link.frame(name).x or 0.0) for name in link.frame_names]
        part.axis = BentAxis(sets, beam.length, np.concatenate([x, places]))
        part.on_axis = {name: len(x) + k for k, name in enumerate(link.frame_names)}
        part.masses, part.r, part.phi, part.discs = dm, np.zeros((len(x), 3)), None, []
        part.levers = np.zeros((1, len(x), 3))
        if beam.rotary_inertia or "torsion" in beam.families:
            known = beam.at(x)
            ly, lz = (np.sqrt(2 * rho / known.mass_per_length) for rho in (known.rhoIz, known.rhoIy))
            corners = ((1, 0), (-1, 0), (0, 1), (0, -1))
            part.levers = np.array([np.stack([0 * x, a * ly, b * lz], axis=1) for a, b in corners])
            part.masses = np.tile(dm / 4, 4)

    @staticmethod
    def _quadrature(breaks, length):
        nodes, weights = np.polynomial.legendre.leggauss(GAUSS_POINTS)
        x, w = [], []
        for a, b in pairwise(breaks):
            if b - a > 1e-9 * length:
                x.append((a + b) / 2 + (b - a) / 2 * nodes)
                w.append((b - a) / 2 * weights)
        return np.concatenate(x), np.concatenate(w)

    @staticmethod
    def _fields(sets, x, n):
        """Displacement of the axis and turn of the section (stations, 3, n)."""
        u, theta = np.zeros((len(x), 3, n)), np.zeros((len(x), 3, n))
        start = 0
        for s in sets:
            samples, block = s.sample(x), slice(start, start + s.size)
            if s.family in DISPLACES:
                u[:, DISPLACES[s.family], block] = samples.value.T
            if s.family in TURNS:
                k, sign = TURNS[s.family]
                theta[:, k, block] = sign * samples.rotation.T
            start += s.size
        return u, theta

    @staticmethod
    def _stiffness(sets, beam, x, weights, n):
        K, start, known = np.zeros((n, n)), 0, beam.at(x)
        for s in sets:
            samples, block = s.sample(x), slice(start, start + s.size)
            K[block, block] = (samples.strain * weights * getattr(known, STIFFNESS[s.family])) @ samples.strain.T
            if np.any(samples.shear):
                K[block, block] += (samples.shear * weights * getattr(known, SHEAR[s.family])) @ samples.shear.T
            start += s.size
        return K

    # ---- kinematics, on complex coordinates

    def poses(self, q):
        """Link -> (R, p) of its frame B; the frames of a robot ask for the same coordinates one after the other."""
        key = q.tobytes()
        if key not in self._known_poses:
            if len(self._known_poses) > 2 * self.size:
                self._known_poses.clear()
            self._known_poses[key] = self._poses(q)
        return self._known_poses[key]

    def _poses(self, q):
        out = {}
        for part in self.parts:
            R, p = (np.eye(3), np.zeros(3)) if part.parent == "base" else self._frame(part.parent, part.frame, q, out)
            joint = part.joint
            R, p = _then(R, p, joint.placement.matrix(), joint.placement.vector())
            c = q[part.columns]
            if joint.type == "revolute":
                R = R @ turn(joint.axis_vector(), c[0])
            elif joint.type == "prismatic":
                p = p + R @ joint.axis_vector() * c[0]
            elif joint.type == "helical":
                p = p + R @ joint.axis_vector() * c[0] * joint.pitch / (2 * np.pi)
                R = R @ turn(joint.axis_vector(), c[0])
            elif joint.type == "cylindrical":
                p = p + R @ joint.axis_vector() * c[0]
                R = R @ turn(joint.axis_vector(), c[1])
            elif joint.type == "planar":
                p = p + R[:, 0] * c[0] + R[:, 1] * c[1]
                R = R @ turn(np.array([0.0, 0.0, 1.0]), c[2])
            elif joint.type == "free":
                p = p + R @ c[:3]
            if joint.type in ("free", "spherical"):
                R = R @ exponential(hat(c[-3:]))
            out[part.name] = _then(R, p, joint.child_placement.matrix(), joint.child_placement.vector())
        return out

    def _frame(self, link, name, q, poses):
        part, (R, p) = self.by_name[link], poses[link]
        position, R_frame, Phi_d, Phi_r = part.frames[name]
        q_e = q[part.elastic]
        if part.axis is not None:
            r, E = (x[part.on_axis[name]] for x in part.axis(q_e))
            return R @ E @ R_frame, p + R @ (r + E @ part.offsets[name])
        further = part.frames_turned.get(name)
        theta = Phi_r @ q_e + self._backward(further, q_e)
        position = position + self._backward(part.frames_back.get(name), q_e)
        turns = Phi_r.any() or (further is not None and further.any())
        E = section_rotation(self.robot.attachment_rotation, theta) if turns else np.eye(3)
        # levers turn with their sections
        return R @ E @ R_frame, p + R @ (position + Phi_d @ q_e + E @ part.offsets.get(name, np.zeros(3)))

    def frame(self, name, q):
        """(R, p) of LINK.FRAME."""
        link, _, frame = name.partition(".")
        return self._frame(link, frame, q, self.poses(q))

    def points(self, q):
        """Positions (p, 3) of all material points."""
        poses = self.poses(q)
        return np.concatenate([self._points(part, q, poses) for part in self.parts])

    def _points(self, part, q, poses):
        R, p = poses[part.name]
        q_e = q[part.elastic]
        if part.axis is not None:
            r, E = (x[: len(part.r)] for x in part.axis(q_e))
            own = [np.concatenate([r + np.einsum("pab,pb->pa", E, s) for s in part.levers])]
        else:
            own = [part.r + part.phi @ q_e + self._backward(part.back, q_e)]
        for _, axis, u, theta, s in part.discs:
            turned = [
                section_rotation(self.robot.attachment_rotation, t @ q_e) @ lever
                for t, lever in zip(theta, s, strict=True)
            ]
            own.append(axis + u @ q_e + np.array(turned))
        out = [p + x @ R.T for x in own]
        for frame, _, r in part.rigid:
            R_f, p_f = self._frame(part.name, frame, q, poses)
            out.append(p_f + r @ R_f.T)
        return np.concatenate(out)

    @staticmethod
    def _backward(G, q_e):
        """q^T G q / 2, nothing for links that bend linearly."""
        return 0.0 if G is None else 0.5 * np.einsum("...ik,i,k->...", G, q_e, q_e)

    def _masses(self, part):
        own = [part.masses, *(disc[0] for disc in part.discs), *(m for _, m, _ in part.rigid)]
        return np.concatenate(own)

    @cached_property
    def masses(self):
        return np.concatenate([self._masses(part) for part in self.parts])

    def velocities(self, q, v):
        return self.points(q + 1j * STEP * v).imag / STEP

    def accelerations(self, q, v, a, step=0.003):
        """Of the points on the path q + v t + a t^2 / 2: differences of exact velocities."""
        out = 0.0
        for k, weight in enumerate(STENCIL):
            t = (k - 4) * step
            if weight:
                out = out + weight / step * self.velocities(q + v * t + a * t * t / 2, v + a * t)
        return out

    def jacobian(self, q):
        """Of all points (p, 3, n)."""
        return np.stack([self.velocities(q, e) for e in np.eye(self.size)], axis=-1)

    def frame_jacobian(self, name, q):
        """(6, n): linear, angular velocity of a frame."""
        return np.array([self.frame_twist(name, q, e) for e in np.eye(self.size)]).T

    def frame_twist(self, name, q, v):
        """(6,): linear, angular velocity of a frame."""
        R, p = self.frame(name, q + 1j * STEP * v)
        w = R.imag / STEP @ R.real.T
        return np.array([*(p.imag / STEP), w[2, 1], w[0, 2], w[1, 0]])


def _keep_strongest(part, weights):
    """Of more than eight patterns in which points move back, the strongest at unit energies of strain."""
    S = np.linalg.cholesky(np.linalg.inv(part.K))
    p, n = len(part.r), len(part.K)
    moved = np.einsum("pdij,ia,jb->pdab", part.back, S, S) * weights[:, :, None, None]
    patterns, sizes, _ = np.linalg.svd(moved.reshape(3 * p, n * n), full_matrices=False)
    if np.count_nonzero(sizes > 1e-9 * sizes[0]) > 8:
        kept = patterns[:, (sizes > 0.03 * sizes[0]) & (np.arange(len(sizes)) < 8)]
        weighed = (part.back * weights[:, :, None, None]).reshape(3 * p, n * n)
        part.back = (kept @ (kept.T @ weighed)).reshape(part.back.shape) / weights[:, :, None, None]


def _then(R, p, R_next, p_next):
    return R @ R_next, p + R @ p_next
