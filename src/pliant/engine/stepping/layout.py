"""The state that a simulation integrates, and where each part of it stands.

x = (q, v, states of the drive, work of the drive, work of loads, dissipated energy). The energies follow the motion: so
every run carries its own balance, E(t) - E(0) = work of the drive + work of loads - dissipated energy.
"""

from __future__ import annotations

from dataclasses import dataclass

BALANCES = 3
"""Number of energies at the end of x."""


@dataclass(frozen=True, slots=True)
class StateLayout:
    """Places in x.

    count   coordinates that are integrated; driven ones are not
    states  continuous states of the drive
    """

    count: int
    states: int = 0

    @property
    def q(self) -> slice:
        """Coordinates."""
        return slice(0, self.count)

    @property
    def v(self) -> slice:
        """Their rates."""
        return slice(self.count, 2 * self.count)

    @property
    def drive(self) -> slice:
        """States of the drive."""
        return slice(2 * self.count, 2 * self.count + self.states)

    @property
    def rest(self) -> slice:
        """All that follows q and v."""
        return slice(2 * self.count, self.size)

    @property
    def further(self) -> int:
        """Number of states after q and v."""
        return self.states + BALANCES

    @property
    def balances(self) -> slice:
        """The energies."""
        return slice(self.controlled, self.size)

    @property
    def work(self) -> int:
        """Work of the drive."""
        return self.controlled

    @property
    def loads(self) -> int:
        """Work of loads."""
        return self.controlled + 1

    @property
    def loss(self) -> int:
        """Energy that damping and friction took."""
        return self.controlled + 2

    @property
    def controlled(self) -> int:
        """Number of states whose errors steer the steps: all before the energies."""
        return 2 * self.count + self.states

    @property
    def share(self) -> float:
        """Weight of a squared error of a drive's state among those of the coordinates, whose mean is taken.

        The mean of the drive's states is added: many of them do not make the coordinates count less.
        """
        return max(self.count, 1) / max(self.states, 1)

    @property
    def size(self) -> int:
        """Number of all states."""
        return 2 * self.count + self.further
