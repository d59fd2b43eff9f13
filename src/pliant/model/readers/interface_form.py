"""Reduced bodies by their interfaces: y = (root 6, each frame 6, fixed modes), as Simscape and Newton take them.

Motions are absolute and small, Tx Ty Tz Rx Ry Rz along the axes of the link. From modal data: q = Pi (y_f - R y_root) +
N eta with Pi the inverse of least strain energy of the frames' shapes, and N the motions that leave the frames at rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from pliant.errors import ModelError, Problem
from pliant.model.description.modal import ModalData, ModalFrame
from pliant.model.element import Array

INDEPENDENT = 1e-9
"""Smallest singular value of the frames' compliance, of the largest, scaled to a unit diagonal."""
RIGID = 1e-6
WORDS = ("dx", "dy", "dz", "rx", "ry", "rz")


class InterfaceForm(NamedTuple):
    """Matrices by interfaces.

    names    root and frames
    P        position (m) and quaternion w, x, y, z of each   (1 + F, 7)
    K, M, D  stiffness, mass and damping                      (6 + 6 F + m, ...)
    """

    names: tuple[str, ...]
    P: Array
    K: Array
    M: Array
    D: Array


def interface_form(modal: ModalData) -> InterfaceForm:
    """The interface form of modal data; raises ModelError where the frames do not move independently."""
    frames = [name for name in modal.frames if name != "root"]
    S = np.concatenate([np.concatenate(modal.frame_shapes(name)) for name in frames])
    n, f = modal.size, len(S)
    K, D = modal.array("K_ee"), modal.array("D_ee")
    compliance = S @ np.linalg.solve(K, S.T)
    scale = np.sqrt(np.maximum(np.diag(compliance), 1e-300))
    strengths = np.linalg.eigvalsh(compliance / np.outer(scale, scale))
    if n < f or strengths[0] < INDEPENDENT * strengths[-1]:
        raise ModelError(
            Problem(
                "coordinates",
                f"are {n}, and do not move the {f} directions of the frames {', '.join(frames)} independently. This "
                f"form needs it: keep at least {f} coordinates, stretch and torsion among them",
            )
        )
    Pi = np.linalg.solve(K, S.T) @ np.linalg.inv(compliance)
    N = _held_modes(S, K, modal.array("M_ee"))
    R = np.concatenate([_rigid(np.array(modal.frames[name].position)) for name in frames])
    size = 6 + f + N.shape[1]
    # x = (v, w, q) = T y
    T = np.zeros((6 + n, size))
    T[:6, :6] = np.eye(6)
    T[6:, :6], T[6:, 6 : 6 + f], T[6:, 6 + f :] = -Pi @ R, Pi, N
    first = modal.array("first")
    cross = np.array([[0, -first[2], first[1]], [first[2], 0, -first[0]], [-first[1], first[0], 0]])
    B = np.concatenate([modal.array("first_modal"), modal.array("beta")])
    M = np.block(
        [
            [np.block([[modal.mass * np.eye(3), -cross], [cross, modal.array("I_rr")]]), B],
            [B.T, modal.array("M_ee")],
        ]
    )
    whole = [np.zeros((6 + n, 6 + n)) for _ in range(2)]
    whole[0][6:, 6:], whole[1][6:, 6:] = K, D
    K_y, M_y, D_y = (T.T @ A @ T for A in (whole[0], M, whole[1]))
    P = np.array([[0, 0, 0, 1, 0, 0, 0], *(_pose(modal.frames[name]) for name in frames)], dtype=float)
    return InterfaceForm(("root", *frames), P, *((A + A.T) / 2 for A in (K_y, M_y, D_y)))


def from_interface_form(P: Array, K: Array, M: Array, D: Array | None = None, *, name: str = "matrices") -> ModalData:
    """Modal data of an interface form; it tells nothing of what deflections do to the inertia, which stays as it was.

    The root is held; coordinates are the motions of the frames and the fixed modes. Raises ModelError where matrices
    are not symmetric, resist rigid motions, or do not fit the frames.
    """
    P, K, M = (np.asarray(A, dtype=float) for A in (P, K, M))
    frames = len(P) - 1
    size = 6 * (frames + 1)
    if P.ndim != 2 or P.shape[1] not in (3, 7) or frames < 1:
        _refuse(name, f"P is {P.shape}; it must have a row of position and quaternion for the root and each frame")
    if K.shape != M.shape or K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] < size:
        _refuse(
            name, f"K is {K.shape} and M {M.shape}; both must be square with 6 rows for each of {frames + 1} frames"
        )
    for word, A in (("K", K), ("M", M)):
        gap = np.abs(A - A.T)
        if gap.max() > 1e-8 * np.abs(A).max():
            i, j = np.unravel_index(np.argmax(gap), A.shape)
            _refuse(name, f"{word} is not symmetric: entries ({i + 1}, {j + 1}) and ({j + 1}, {i + 1}) differ")
    places = P[:, :3] - P[0, :3]
    R = np.concatenate([_rigid(place) for place in places[1:]])
    free = np.zeros((len(K), 6))
    free[:6], free[6:size] = np.eye(6), R
    resists = np.abs(K @ free).max(axis=0) / (np.abs(K) @ np.abs(free)).max(axis=0)
    if resists.max() > RIGID:
        _refuse(
            name, f"K resists the rigid motion {WORDS[int(np.argmax(resists))]} by {resists.max():.1e} of its forces"
        )
    T = np.zeros((len(K), len(K)))
    T[:, :6] = free
    T[6:, 6:] = np.eye(len(K) - 6)
    K_x, M_x = T.T @ K @ T, T.T @ M @ T
    D_x = np.zeros_like(K_x) if D is None else T.T @ np.asarray(D, dtype=float) @ T
    n = len(K) - 6
    labels = ["tip", *(f"frame{k}" for k in range(2, frames + 1))]
    shapes = np.eye(size - 6, n).reshape(frames, 6, n)
    names = [f"{label}.{word}" for label in labels for word in WORDS] + [f"fixed.{k + 1}" for k in range(n + 6 - size)]
    moment = M_x[3:6, :3]
    return ModalData(
        names=tuple(names),
        mass=float(np.trace(M_x[:3, :3]) / 3),
        length=float(np.linalg.norm(places[1])),
        first=np.array([moment[2, 1], moment[0, 2], moment[1, 0]]),
        I_rr=M_x[3:6, 3:6],
        first_modal=M_x[:3, 6:],
        beta=M_x[3:6, 6:],
        M_ee=M_x[6:, 6:],
        K_ee=K_x[6:, 6:],
        D_ee=D_x[6:, 6:],
        frames={
            label: ModalFrame(position=tuple(place.tolist()), rotation=turned, Phi_d=own[:3], Phi_r=own[3:])
            for label, place, turned, own in zip(labels, places[1:], _turns(P[1:]), shapes, strict=True)
        },
    )


def _held_modes(S: Array, K: Array, M: Array) -> Array:
    """Modes of unit mass (n, m) that leave all frames at rest."""
    from scipy.linalg import eigh, null_space

    N = null_space(S / np.linalg.norm(S, axis=1, keepdims=True))
    if not N.shape[1]:
        return np.asarray(N)
    _, V = eigh(N.T @ K @ N, N.T @ M @ N)
    return np.asarray(N @ V)


def _turns(P: Array) -> list[Any]:
    """Rotations of frames as descriptions have them."""
    if P.shape[1] == 3:
        return [()] * len(P)
    return [() if abs(abs(row[3]) - 1) < 1e-12 else {"quaternion": row[3:].tolist()} for row in P]


def _rigid(place: Array) -> Array:
    """Motion (6, 6) of a frame at a place that moves rigidly with the root."""
    out = np.eye(6)
    out[:3, 3:] = np.cross(np.eye(3), place).T
    return out


def _pose(frame: ModalFrame) -> list[float]:
    R = frame.matrix()
    # of the largest of the four, which is never small
    squares = np.array([1 + R[0, 0] + R[1, 1] + R[2, 2], *(1 + 2 * R[k, k] - np.trace(R) for k in range(3))])
    k = int(np.argmax(squares))
    if k == 0:
        q = np.array([squares[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    else:
        a, b, c = k - 1, k % 3, (k + 1) % 3
        q = np.zeros(4)
        q[[0, k, b + 1, c + 1]] = R[c, b] - R[b, c], squares[k], R[b, a] + R[a, b], R[c, a] + R[a, c]
    return [*frame.position, *(q / np.linalg.norm(q)).tolist()]


def _refuse(name: str, message: str) -> NoReturn:
    raise ModelError(Problem(name, message))
