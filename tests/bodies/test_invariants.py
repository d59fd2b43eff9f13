"""Every inertia integral against a cloud of material points, which is the definition."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.bodies.beam_modes import BeamModes, assemble, attachment, inertia, mass_matrix, normalised, stiffness
from pliant.bodies.elements import element_set
from pliant.bodies.modal_body import point_integrals
from pliant.bodies.profile import BeamPiece, BeamProfile, SectionData
from pliant.bodies.shapes import Given, bending_shapes, rod_shapes

FAMILIES = ("bend_y", "bend_z", "torsion", "axial")
# both sides are sums of hundreds of products in double precision
AGREEMENT = 1e-11


def double_exponential(a, b, points=60):
    """Tanh-sinh rule on [a, b]: nothing in common with Gauss, and as accurate for smooth functions."""
    t = np.linspace(-3.2, 3.2, 2 * points + 1)
    nodes = np.tanh(np.pi / 2 * np.sinh(t))
    weights = (t[1] - t[0]) * np.pi / 2 * np.cosh(t) / np.cosh(np.pi / 2 * np.sinh(t)) ** 2
    return (a + b) / 2 + (b - a) / 2 * nodes, (b - a) / 2 * weights


def cloud(profile, fields_of, section_inertia):
    """Masses, positions and shapes of material points: four per station, at the radii of gyration.

    ``fields_of(x)`` gives axis displacement (stations, 3, n) and section rotation (stations, 3, n).
    """
    masses, positions, shapes = [], [], []
    for a, b in zip(profile.breaks, profile.breaks[1:], strict=False):
        x, weights = double_exponential(a, b)
        section = profile.at(x)
        u, theta = fields_of(x)
        ry, rz = np.sqrt(section.rhoIz / section.rhoA), np.sqrt(section.rhoIy / section.rhoA)
        for sign_y, sign_z in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            on = 1.0 if section_inertia else 0.0
            s = np.stack(np.broadcast_arrays(0 * x, on * sign_y * ry, on * sign_z * rz), axis=1)
            masses.append(weights * section.rhoA / 4)
            positions.append(np.stack([x, 0 * x, 0 * x], axis=1) + s)
            shapes.append(u + np.cross(theta, s[:, :, None], axis=1))
    return np.concatenate(masses), np.concatenate(positions), np.concatenate(shapes)


def random_function(rng, length):
    """A smooth function with two derivatives, of no special symmetry."""
    c, k = rng.normal(size=4), rng.uniform(0.5, 6.0) / length
    phase = rng.uniform(0, np.pi)

    def function(x, length=length):
        value = c[0] * x + c[1] * x**2 + c[2] * x**3 + c[3] * np.sin(k * x + phase)
        slope = c[0] + 2 * c[1] * x + 3 * c[2] * x**2 + c[3] * k * np.cos(k * x + phase)
        return value, slope, 2 * c[1] + 6 * c[2] * x - c[3] * k**2 * np.sin(k * x + phase)

    return function


def random_profile(rng):
    def taper(start, end):
        return lambda s: SectionData(
            **{name: start[name] * (1 - s) ** 2 + end[name] * s for name in start}
        )  # fmt: skip

    names = ("rhoA", "rhoIy", "rhoIz", "EIy", "EIz", "EA", "GJ")
    pieces = []
    for _ in range(rng.integers(1, 4)):
        start, end = ({name: rng.uniform(0.2, 2.0) for name in names} for _ in range(2))
        pieces.append(
            BeamPiece(rng.uniform(0.2, 1.0), SectionData(**start) if rng.random() < 0.4 else taper(start, end))
        )
    return BeamProfile(tuple(pieces))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), section_inertia=st.booleans())
def test_all_integrals_against_material_points(seed, section_inertia):
    rng = np.random.default_rng(seed)
    profile = random_profile(rng)
    counts = rng.integers(0, 3, size=4)
    functions = {
        f: [random_function(rng, profile.length) for _ in range(c)] for f, c in zip(FAMILIES, counts, strict=True)
    }
    sets = [BeamModes(f, tuple(Given(length=profile.length, function=g) for g in functions[f])) for f in FAMILIES]

    def fields_of(x):
        columns = []
        none = 0 * x
        for f in functions["bend_y"]:
            columns.append(((none, f(x)[0], none), (none, none, f(x)[1])))
        for f in functions["bend_z"]:
            columns.append(((none, none, f(x)[0]), (none, -f(x)[1], none)))
        for f in functions["torsion"]:
            columns.append(((none, none, none), (f(x)[0], none, none)))
        for f in functions["axial"]:
            columns.append(((f(x)[0], none, none), (none, none, none)))
        stacked = np.array(columns).reshape(len(columns), 2, 3, len(x))
        return np.moveaxis(stacked[:, 0], (2, 0), (0, 2)), np.moveaxis(stacked[:, 1], (2, 0), (0, 2))

    computed = inertia(sets, profile, section_inertia=section_inertia)
    expected = point_integrals(*cloud(profile, fields_of, section_inertia))
    assert computed.keys() == expected.keys()
    for name, value in expected.items():
        scale = max(1.0, np.abs(value).max(initial=0.0))
        assert np.shape(computed[name]) == np.shape(value), name
        assert computed[name] == pytest.approx(value, abs=AGREEMENT * scale), name

    # strain energy of a random deformation, by the other rule
    q = rng.normal(size=sum(counts))
    energy, start = 0.0, 0
    for family, modulus, order in (
        ("bend_y", "EIz", 2),
        ("bend_z", "EIy", 2),
        ("torsion", "GJ", 1),
        ("axial", "EA", 1),
    ):
        own = q[start : start + len(functions[family])]
        start += len(own)
        for a, b in zip(profile.breaks, profile.breaks[1:], strict=False):
            x, weights = double_exponential(a, b)
            strain = sum((c * f(x)[order] for c, f in zip(own, functions[family], strict=True)), 0 * x)
            energy += weights @ (getattr(profile.at(x), modulus) * strain**2) / 2
    assert q @ stiffness(sets, profile) @ q / 2 == pytest.approx(energy, rel=AGREEMENT, abs=AGREEMENT)


def all_families(length, kind="clamped-free"):
    bending = tuple(bending_shapes(kind, 3, length, mu=0.5, J=0.1))
    rods = tuple(rod_shapes(kind, 2, length, ratio=0.5))
    return [
        BeamModes("bend_y", bending),
        BeamModes("bend_z", bending),
        BeamModes("torsion", rods),
        BeamModes("axial", rods),
    ]


@pytest.mark.parametrize(
    "kind", ["clamped-free", "clamped-mass", "pinned-pinned", "pinned-free", "free-free", "polynomial"]
)
def test_zeros_by_direction_are_exact(kind, tapered):
    body = assemble(all_families(tapered.length, kind), tapered, {}, section_inertia=True)
    family = np.array([name.split(".")[0] for name in body.names])
    other = family[:, None] != family
    for matrix in (body.M_ee, body.K_ee):
        assert not matrix[other].any()
    y, z, torsion, axial = (family == name for name in FAMILIES)
    # int r x phi_k: bending in y turns about z, bending in z about y, torsion about x
    assert not body.beta[:2, y].any()
    assert not body.beta[0, z].any()
    assert not body.beta[2, z].any()
    assert not body.beta[1:, torsion].any()
    assert not body.beta[:, axial].any()
    assert not body.first_modal[:, torsion].any()
    # phi_k x phi_i in one plane of bending has no section part: exactly zero
    assert not body.lam[np.ix_(y, y)].any()
    assert np.array_equal(body.first[1:], [0.0, 0.0])
    assert np.array_equal(body.I_rr, np.diag(np.diag(body.I_rr)))


def test_mass_matrix_of_one_family(tapered):
    for shapes in all_families(tapered.length, "clamped-mass"):
        for on in (False, True):
            body = assemble([shapes], tapered, {}, section_inertia=on)
            expected = body.M_ee if shapes.family != "torsion" or on else 0.0 * body.M_ee
            assert mass_matrix(shapes, tapered, section_inertia=on) == pytest.approx(expected, rel=1e-13)


def test_orthogonal_modes_give_diagonal_matrices(uniform):
    shapes = tuple(bending_shapes("clamped-free", 20, uniform.length))
    body = assemble([BeamModes("bend_y", shapes)], uniform, {}, section_inertia=False)
    for matrix in (body.M_ee, body.K_ee):
        assert np.array_equal(matrix, np.diag(np.diag(matrix)))
    sines = tuple(bending_shapes("pinned-pinned", 8, uniform.length))
    body = assemble([BeamModes("bend_z", sines)], uniform, {}, section_inertia=False)
    assert not body.first_modal[2, 1::2].any()


def test_equal_planes_are_equal_to_the_bit(uniform):
    data = uniform.pieces[0].data
    square = BeamProfile.uniform(uniform.length, replace(data, rhoIz=data.rhoIy, EIz=data.EIy))
    body = assemble(all_families(square.length, "clamped-mass"), square, {}, section_inertia=True)
    y, z = slice(0, 3), slice(3, 6)
    assert np.array_equal(body.M_ee[y, y], body.M_ee[z, z])
    assert np.array_equal(body.K_ee[y, y], body.K_ee[z, z])
    assert np.array_equal(body.beta[2, y], -body.beta[1, z])
    assert np.array_equal(body.lam[y, z], -np.swapaxes(body.lam[z, y], 0, 1))
    assert np.array_equal(body.lam[y, z], np.swapaxes(body.lam[y, z], 0, 1))
    for matrix in (body.M_ee, body.K_ee, body.I_rr):
        assert np.array_equal(matrix, matrix.T)


@settings(max_examples=10, deadline=None)
@given(section_inertia=st.booleans(), kind=st.sampled_from(["clamped-free", "pinned-free", "polynomial"]))
def test_symmetries_of_the_definition(section_inertia, kind):
    profile = random_profile(np.random.default_rng(7))
    body = assemble(all_families(profile.length, kind), profile, {}, section_inertia=section_inertia)
    assert np.array_equal(body.lam, -np.swapaxes(body.lam, 0, 1))
    assert body.I_ee == pytest.approx(np.swapaxes(np.swapaxes(body.I_ee, 0, 1), 2, 3))
    # the trace of phi_i~^T phi_k~ is twice phi_i . phi_k
    assert np.trace(body.I_ee, axis1=2, axis2=3) == pytest.approx(2 * body.M_ee)
    assert np.linalg.eigvalsh(body.I_rr).min() >= 0


def test_rigid_beam_is_a_rod(uniform):
    body = assemble([], uniform, {}, section_inertia=False)
    m, length = 1.7 * 1.3, 1.3
    assert body.size == 0
    assert body.K_ee.shape == (0, 0)
    assert body.lam.shape == (0, 0, 3)
    assert body.mass == pytest.approx(m, rel=1e-15)
    assert body.first == pytest.approx([m * length / 2, 0, 0])
    assert np.diag(body.I_rr) == pytest.approx([0, m * length**2 / 3, m * length**2 / 3])
    with_section = assemble([], uniform, {}, section_inertia=True)
    expected = np.array([0.008, 0.003, 0.005]) * length + [0, m * length**2 / 3, m * length**2 / 3]
    assert np.diag(with_section.I_rr) == pytest.approx(expected)


def test_polar_inertia_of_its_own(uniform):
    # a section with the inertias rhoJ, rhoIy, rhoIz about x, y, z, none the sum of the others
    data = replace(uniform.pieces[0].data, rhoJ=0.0065)
    profile = BeamProfile.uniform(uniform.length, data)
    sets = all_families(profile.length)
    thin, thick = (assemble(sets, p, {}, section_inertia=True) for p in (uniform, profile))
    y, z, torsion = slice(0, 3), slice(3, 6), slice(6, 8)
    assert thick.M_ee[y, y] == pytest.approx(thin.M_ee[y, y], rel=1e-13)
    assert thick.M_ee[z, z] == pytest.approx(thin.M_ee[z, z], rel=1e-13)
    assert thick.M_ee[torsion, torsion] == pytest.approx(thin.M_ee[torsion, torsion] * 0.0065 / 0.008, rel=1e-13)
    assert thick.beta[:, torsion] == pytest.approx(thin.beta[:, torsion] * 0.0065 / 0.008, rel=1e-13)
    assert thick.beta[:, :6] == pytest.approx(thin.beta[:, :6], rel=1e-13)
    assert np.diag(thick.I_rr) - np.diag(thin.I_rr) == pytest.approx([-0.0015 * 1.3, 0, 0], abs=1e-14)


def test_offset_frames_turn_with_their_section(uniform):
    sets = all_families(uniform.length)
    offset, x = np.array([0.02, -0.3, 0.4]), 0.6
    axis, frame = attachment(sets, x), attachment(sets, x, offset)
    assert frame.position == pytest.approx([0.62, -0.3, 0.4])
    assert np.array_equal(frame.Phi_r, axis.Phi_r)
    for k in range(frame.Phi_d.shape[1]):
        assert frame.Phi_d[:, k] == pytest.approx(axis.Phi_d[:, k] + np.cross(axis.Phi_r[:, k], offset))
    root = attachment(sets, 0.0)
    assert not root.Phi_d.any()
    assert not root.Phi_r.any()


def test_pinned_roots_turn():
    root = attachment([BeamModes("bend_y", tuple(bending_shapes("pinned-pinned", 3, 0.9)))], 0.0)
    tip = attachment([BeamModes("bend_y", tuple(bending_shapes("pinned-pinned", 3, 0.9)))], 0.9)
    assert not root.Phi_d.any()
    assert not tip.Phi_d.any()
    assert root.Phi_r[2] == pytest.approx(np.arange(1, 4) * np.pi / 0.9)


UNITS = {
    # powers of length (metre -> millimetre) and mass (kilogram -> tonne) in each section constant
    "rhoA": (-1, 1), "rhoIy": (1, 1), "rhoIz": (1, 1), "EIy": (3, 1), "EIz": (3, 1),
    "EA": (1, 1), "GJ": (3, 1), "GAy": (1, 1), "GAz": (1, 1),
}  # fmt: skip


@pytest.mark.parametrize("make", ["modes", "elements", "timoshenko"])
def test_units_scale(make, uniform):
    metre, kilogram = 1000.0, 0.001

    def build(profile):
        if make == "modes":
            sets = [
                normalised(s, "mass", profile, tip_mass=0.1 * mass(profile))
                for s in all_families(profile.length, "clamped-mass")
            ]
        else:
            sets = [element_set(f, profile, 3, timoshenko=make == "timoshenko") for f in FAMILIES]
        frame = attachment(sets, profile.length, profile.length * np.array([0, 0.1, 0.2]))
        return assemble(sets, profile, {"tip": frame}, section_inertia=True)

    def mass(profile):
        return profile.pieces[0].data.rhoA * profile.length

    data = uniform.pieces[0].data
    scaled = {
        f.name: getattr(data, f.name) * metre ** UNITS[f.name][0] * kilogram ** UNITS[f.name][1]
        for f in fields(data)
        if f.name in UNITS
    }
    si, other = build(uniform), build(BeamProfile.uniform(uniform.length * metre, SectionData(**scaled)))

    # modal coordinates: of bending and elongation a length, torsion and nodal slopes an angle
    def is_angle(name):
        family, number = name.split(".")
        return family == "torsion" or (make != "modes" and family.startswith("bend") and int(number) % 2 == 0)

    # mass-normalised shapes are pure numbers; q in metres is metre times larger in the other units
    q = np.array([1.0 if is_angle(name) else metre for name in si.names])
    per_q = 1.0 / q
    relative = 1e-12
    assert other.mass == pytest.approx(si.mass * kilogram, rel=relative)
    assert other.first == pytest.approx(si.first * kilogram * metre, rel=relative)
    assert other.I_rr == pytest.approx(si.I_rr * kilogram * metre**2, rel=relative)
    for name, dimension in (("M_ee", 2), ("K_ee", 2)):
        expected = getattr(si, name) * kilogram * metre**dimension * np.outer(per_q, per_q)
        assert getattr(other, name) == pytest.approx(expected, rel=relative, abs=relative * np.abs(expected).max())
    expected = si.beta * kilogram * metre**2 * per_q
    assert other.beta == pytest.approx(expected, rel=relative, abs=relative * np.abs(expected).max())
    expected = si.I_ee * kilogram * metre**2 * np.outer(per_q, per_q)[:, :, None, None]
    assert other.I_ee == pytest.approx(expected, rel=relative, abs=relative * np.abs(expected).max())
    assert other.frames["tip"].Phi_d == pytest.approx(si.frames["tip"].Phi_d * metre * per_q, rel=relative)
    assert other.frames["tip"].Phi_r == pytest.approx(si.frames["tip"].Phi_r * per_q, rel=relative)
