"""Assumed modes of a beam: normalisations, published constants, reference modes."""

import numpy as np
import pytest

from pliant.bodies.beam_modes import BeamModes, assemble, attachment, family_inertia, mode_set, normalised, peak
from pliant.bodies.build import frequencies
from pliant.bodies.profile import BeamProfile, SectionData, gauss
from pliant.bodies.shapes import Power, bending_shapes


def tip_of(modes, length, order):
    return np.array([float(shape(length, order)) for shape in modes.shapes])


def test_de_luca_siciliano_constants(published):
    case = published["de_luca_siciliano"]
    length = case["length"]
    profile = BeamProfile.uniform(length, SectionData(rhoA=case["rhoA"], EIz=case["EI"]))
    for link in case["links"]:
        load = {"tip_mass": link["tip_mass"], "tip_inertia": link["tip_inertia"]}
        modes = mode_set("bend_y", "clamped-mass", 2, profile, **load)
        hertz = [(s.beta / length) ** 2 * np.sqrt(case["EI"] / case["rhoA"]) / (2 * np.pi) for s in modes.shapes]
        # to the last printed digit
        assert np.round(hertz, 2) == pytest.approx(link["hertz"], abs=1e-9)
        assert np.round(tip_of(modes, length, 0), 3) == pytest.approx(link["value"], abs=1e-9)
        assert np.round(tip_of(modes, length, 1), 3) == pytest.approx(link["slope"], abs=1e-9)


def test_clamped_mass_modes_with_their_load_are_exact_and_orthogonal(published):
    case = published["de_luca_siciliano"]
    length, mass = case["length"], case["rhoA"] * case["length"]
    profile = BeamProfile.uniform(length, SectionData(rhoA=case["rhoA"], EIz=case["EI"]))
    for link in case["links"]:
        load = {"tip_mass": link["tip_mass"], "tip_inertia": link["tip_inertia"]}
        modes = mode_set("bend_y", "clamped-mass", 4, profile, **load)
        body = assemble([modes], profile, {}, section_inertia=False)
        w, s = tip_of(modes, length, 0), tip_of(modes, length, 1)
        loaded = body.M_ee + link["tip_mass"] * np.outer(w, w) + link["tip_inertia"] * np.outer(s, s)
        assert loaded == pytest.approx(mass * np.eye(4), abs=1e-12)
        omega = np.array([(m.beta / length) ** 2 for m in modes.shapes]) * np.sqrt(case["EI"] / case["rhoA"])
        assert body.K_ee == pytest.approx(np.diag(mass * omega**2), abs=1e-12 * mass * omega[-1] ** 2)


@pytest.mark.parametrize(("link", "number"), [("link2", 0), ("link3", 1)])
def test_dual_screw_arm_modes(link, number, reference_modes):
    reference = reference_modes["dual_screw_arm"]
    table, modes = reference["table_I"], reference["modes"][link]
    i = int(link[-1])
    length, A = table[f"L{i}"], table[f"A{i}"]
    E, G, rho = table["E"], table["G"], table["rho"]
    I1, I2, I3 = (table[f"I{i}{axis}"] for axis in (1, 2, 3))
    data = SectionData(rhoA=rho * A, rhoIy=rho * I2, rhoIz=rho * I3, rhoJ=rho * I1, EIy=E * I2, EIz=E * I3, GJ=G * I1)
    profile = BeamProfile.uniform(length, data)
    tip_mass = reference["mu"][number] * rho * A * length
    bending = [
        mode_set(f, "clamped-mass", 2, profile, normalise="tip", tip_mass=tip_mass) for f in ("bend_y", "bend_z")
    ]
    torsion = mode_set("torsion", "clamped-free", 2, profile, normalise="tip")

    x = np.array(modes["x"])
    shapes = bending[0].shapes
    assert [s.beta for s in shapes] == pytest.approx(modes["beta"], rel=1e-13)
    for order, key in enumerate(("psi", "dpsi", "ddpsi")):
        expected = np.array(modes[key])
        found = np.array([s(x, order) for s in shapes])
        assert found == pytest.approx(expected, abs=1e-12 * np.abs(expected).max())
    assert np.array([s(x) for s in torsion.shapes]) == pytest.approx(np.array(modes["torsion"]), abs=1e-14)
    plain = assemble([bending[0]], profile, {}, section_inertia=False)
    assert plain.M_ee == pytest.approx(np.array(modes["int_rhoA_psi_psi"]), rel=1e-11)
    assert plain.first_modal[1] == pytest.approx(modes["int_rhoA_psi"], rel=1e-11)
    assert plain.beta[2] == pytest.approx(modes["int_rhoA_x_psi"], rel=1e-11)

    # stiffness in the order of the reference: torsion, bending in y, bending in z
    body = assemble([torsion, *bending], profile, {}, section_inertia=True)
    expected = np.array(reference[f"K_{link}"])
    assert body.K_ee == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())
    # the printed polar moment carries torsion and the rotation about x alike
    assert body.M_ee[0, 0] == pytest.approx(rho * I1 * length / 2, rel=1e-13)
    assert body.I_rr[0, 0] == pytest.approx(rho * I1 * length, rel=1e-13)
    assert body.I_rr[1, 1] == pytest.approx(rho * (A * length**3 / 3 + I2 * length), rel=1e-13)


@pytest.mark.parametrize(("case", "kind"), [("F_clamped_free", "clamped-free"), ("F_pinned_pinned", "pinned-pinned")])
def test_planar_arm_constants(case, kind, reference_modes):
    link = reference_modes["planar"][case]
    constants, length, rhoA, EI = link["modal_constants"], link["L"], link["rhoA"], link["EI"]
    profile = BeamProfile.uniform(length, SectionData(rhoA=rhoA, EIz=EI))
    modes = mode_set("bend_y", kind, 2, profile, normalise="none")
    body = assemble([modes], profile, {}, section_inertia=False)
    assert tip_of(modes, length, 0) == pytest.approx(constants["phi_L"], abs=1e-13)
    assert tip_of(modes, length, 1) == pytest.approx(constants["dphi_L"], rel=1e-13)
    assert tip_of(modes, 0.0, 1) == pytest.approx(constants["dphi_0"], rel=1e-13)
    assert body.first_modal[1] / rhoA == pytest.approx(constants["int_phi"], abs=1e-13)
    assert body.beta[2] / rhoA == pytest.approx(constants["int_x_phi"], abs=1e-13)
    assert body.M_ee / rhoA == pytest.approx(np.array(constants["int_phi_phi"]), abs=1e-13)
    scale = np.abs(constants["int_ddphi_ddphi"]).max()
    assert body.K_ee / EI == pytest.approx(np.array(constants["int_ddphi_ddphi"]), abs=1e-13 * scale)


@pytest.mark.parametrize("family", ["bend_y", "bend_z", "torsion", "axial"])
@pytest.mark.parametrize("kind", ["clamped-free", "clamped-mass", "pinned-pinned", "pinned-free", "polynomial"])
def test_mass_normalisation(family, kind, tapered):
    modes = mode_set(family, kind, 4, tapered, tip_mass=0.7, tip_inertia=0.02)
    body = assemble([modes], tapered, {}, section_inertia=family == "torsion")
    total = family_inertia(family, tapered)
    tip = np.zeros(4)
    if kind == "clamped-mass":
        w, s = tip_of(modes, tapered.length, 0), tip_of(modes, tapered.length, 1)
        tip = {"torsion": 0.02 * w**2, "axial": 0.7 * w**2}.get(family, 0.7 * w**2 + 0.02 * s**2)
    assert np.diag(body.M_ee) + tip == pytest.approx(total, rel=1e-12)


def test_classical_form_is_mass_normalised(uniform):
    modes = mode_set("bend_z", "clamped-free", 20, uniform)
    assert tip_of(modes, uniform.length, 0) == pytest.approx([2.0 * (-1) ** k for k in range(20)], rel=1e-13)
    assert family_inertia("bend_z", uniform) == pytest.approx(1.7 * 1.3)
    assert family_inertia("torsion", uniform) == pytest.approx(0.008 * 1.3)


def test_tip_and_unit_normalisation(uniform):
    length = uniform.length
    tip = mode_set("bend_y", "clamped-mass", 5, uniform, normalise="tip", tip_mass=3.0)
    assert tip_of(tip, length, 0) == pytest.approx(1.0)
    x = np.linspace(0, length, 20001)
    for kind in ("clamped-free", "clamped-mass", "pinned-pinned", "pinned-free", "free-free"):
        for shape in mode_set("bend_y", kind, 5, uniform, normalise="unit", tip_mass=3.0).shapes:
            assert np.abs(shape(x)).max() == pytest.approx(1.0, abs=1e-6)
            assert np.abs(shape(x)).max() <= 1.0 + 1e-14
    sines = mode_set("bend_y", "pinned-pinned", 3, uniform, normalise="unit")
    assert [shape.scale for shape in sines.shapes] == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="zero at the tip"):
        mode_set("bend_y", "pinned-pinned", 1, uniform, normalise="tip")
    with pytest.raises(ValueError, match="energy"):
        normalised(BeamModes("bend_y", (Power(length=1.0, degree=2),)), "energy", uniform)


def test_peak_of_a_plateau():
    assert peak(Power(length=2.0, degree=0)) == 1.0
    assert peak(bending_shapes("clamped-free", 3, 1.0)[2]) == pytest.approx(2.0)


@pytest.mark.parametrize("family", ["bend_y", "bend_z", "torsion", "axial"])
def test_frequencies_of_a_uniform_beam(family, uniform):
    body = assemble([mode_set(family, "clamped-free", 20, uniform)], uniform, {}, section_inertia=family == "torsion")
    length, rhoA = 1.3, 1.7
    rods = (np.arange(20) + 0.5) * np.pi / length
    bends = np.array([s.beta / length for s in bending_shapes("clamped-free", 20, length)]) ** 2
    expected = {
        "bend_y": bends * np.sqrt(19.0 / rhoA),
        "bend_z": bends * np.sqrt(11.0 / rhoA),
        "torsion": rods * np.sqrt(7.0 / 0.008),
        "axial": rods * np.sqrt(8e4 / rhoA),
    }[family]
    assert frequencies(body) == pytest.approx(expected, rel=1e-12)


def test_clamped_free_polynomials_meet_the_modes(uniform):
    # Ritz from above
    modes = frequencies(assemble([mode_set("bend_y", "clamped-free", 3, uniform)], uniform, {}, section_inertia=False))
    ritz = frequencies(assemble([mode_set("bend_y", "polynomial", 7, uniform)], uniform, {}, section_inertia=False))
    assert np.all(ritz[:3] >= modes * (1 - 1e-9))
    assert ritz[:2] == pytest.approx(modes[:2], rel=1e-4)


def test_user_shapes_are_the_polynomials(uniform):
    def power(n):
        return lambda x, L: ((x / L) ** n, n * x ** (n - 1) / L**n, n * (n - 1) * x ** (n - 2) / L**n)

    user = mode_set("bend_z", "user", 2, uniform, normalise="none", functions=[power(2), power(3), power(4)])
    poly = mode_set("bend_z", "polynomial", 2, uniform, normalise="none")
    a, b = (assemble([modes], uniform, {}, section_inertia=True) for modes in (user, poly))
    for name in ("M_ee", "K_ee", "beta", "I_ee"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-12, abs=1e-14), name
    assert attachment([user], 0.4).Phi_d == pytest.approx(attachment([poly], 0.4).Phi_d)


def test_rotary_inertia_lowers_frequencies(uniform):
    modes = mode_set("bend_y", "clamped-free", 5, uniform)
    plain, rotary = (assemble([modes], uniform, {}, section_inertia=on) for on in (False, True))
    assert np.all(frequencies(rotary) < frequencies(plain))
    x, weights = gauss((0.0, uniform.length), 60)
    slopes = np.array([s(x, 1) for s in modes.shapes])
    assert rotary.M_ee - plain.M_ee == pytest.approx(0.005 * (slopes * weights) @ slopes.T, rel=1e-9)
