"""An extended Kalman filter finds a payload: runs with noise of their own, and how often the truth is within 2 sigma.

python benchmarks/payload_runs.py [RUNS]
"""

import sys

import numpy as np

import pliant

PLACE = "upper.payloads[0].mass"
TRUTH, BELIEF = 0.17, 0.10
ROBOT = f"""
name: one-link
gravity: [0, 0, 0]
links:
  - name: upper
    joint: {{name: shoulder, axis: z}}
    hub: {{mass: 0, inertia: 0.02}}
    beam:
      length: 0.9
      properties: {{mass_per_length: 0.3645, EIy: 7.0875, EIz: 7.0875}}
      bending: linear
      modes: {{shape: clamped-free, normalise: mass, bend_y: 2}}
      damping: {{rayleigh: {{mass: 0, stiffness: 0.0004}}}}
    payloads: [{{frame: tip, mass: {TRUTH}, inertia: 0.0001}}]
sensors:
  - {{name: hub, encoder: {{joint: shoulder, counts: 8192}}}}
  - {{name: gauge, strain: {{link: upper, x: 50 mm, y: 1.5 mm}}, noise: 2e-6}}
"""
"""The arm of the reference data, one link that slews in a plane."""


def drive(seed: int, walk: float = 3.2e-3) -> pliant.LQR:
    """A regulator of the estimates on a slow swing of the joint; what wanders is 1e-5 kg^2/s."""
    return pliant.LQR(
        trajectory=pliant.ExpressionMotion(joints={"shoulder": "0.4*sin(2*pi*0.7*t)"}),
        weights={"tip": 1e3, "coordinates": 1.0, "rates": 0.01, "effort": 1.0},
        estimator="ekf",
        process={"effort": 0.01, "states": 1e-5},
        parameters=({"place": PLACE, "start": BELIEF, "sigma": 0.05, "walk": walk},),
        sampling=pliant.Sampling(period=1e-3),
        seed=seed,
    )


def estimates(seeds: range, until: float = 0.8) -> np.ndarray:
    """Estimate and sigma of the payload at the end of runs (runs, 2)."""
    from pliant.model.readers.library import read_text

    arm = pliant.Dynamics(read_text(ROBOT))
    start = pliant.Start(velocity={"shoulder": 0.4 * 2 * np.pi * 0.7})
    found = []
    for seed in seeds:
        run = pliant.simulate(arm, until=until, drive=drive(seed), start=start, output_step=until / 4)
        found.append([run[f"drive.estimate.{PLACE}"][-1], run[f"drive.sigma.{PLACE}"][-1]])
    return np.array(found)


def main() -> None:
    """Print all runs."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    found = estimates(range(count))
    for k, (mass, sigma) in enumerate(found):
        print(f"run {k:2d}: {mass:.4f} +- {sigma:.4f} kg, off by {abs(mass - TRUTH) / sigma:.2f} sigma")
    print(f"{np.sum(np.abs(found[:, 0] - TRUTH) < 2 * found[:, 1])} of {count} within 2 sigma of {TRUTH} kg")


if __name__ == "__main__":
    main()
