"""What exported C repeats: Newton's method on closed loops, and steps in time, explicit and implicit.

All arrays are in the instance or are arguments; nothing is allocated, no array has a size that a run decides, and
nothing calls itself. ``arm`` stands for the robot's name in the texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.engine.compile.c_code import CFunction, number, signature, table
from pliant.engine.stepping.esdirk import DIAGONAL, STAGES, esdirk4

if TYPE_CHECKING:
    from pliant.export.functions import Exported

MOST_STEPS = 50
"""Newton steps that an assembly may take."""
CLOSED = 1e-10
"""Gap of closed loops, relative to the size of the robot (or in radians)."""
EXACT = 1e-15
"""Gap at which nothing is left to gain."""
SHORTEST = 1e-3
"""Part of a Newton step below which there is none that helps."""

STEPPERS = ("rk4", "esdirk")
"""Functions that only C has: steps of robots with efforts."""


def named(text: str, name: str) -> str:
    """A text about ``arm`` for a robot of another name."""
    return text.replace("ARM_", f"{name.upper()}_").replace("arm_", f"{name}_")


def newton_function(each: Exported, step: CFunction, name: str) -> CFunction:
    """``int NAME(inputs, output, workspace, parameters)`` around a Newton step; steps taken, -1: it did not close."""
    inputs, size, outputs = each.signature.inputs, each.program.size, each.program.outputs
    rows = outputs - len(inputs) * size
    arguments = [f"const double *{x}" for x in inputs]
    output = each.signature.output
    arguments += [f"double *{output}", "double *workspace", "const double *parameters"]
    prototype = signature(f"int {name}", arguments)
    rates = inputs[1:]
    passed = "".join(f"{x}, " for x in rates)
    last = [f"    for (int i = 0; i < {size}; ++i) {output}[{size} + i] = now[{size} + i];"] if rates else []
    lines = [
        prototype,
        "{",
        "    double *const trial = workspace;",
        f"    double *const now = workspace + {size};",
        f"    double *const next = workspace + {size + outputs};",
        f"    double *const rest = workspace + {size + 2 * outputs};",
        "    int steps = 0;",
        f"    for (int i = 0; i < {size}; ++i) {output}[i] = q[i];",
        f"    {step.name}({output}, {passed}now, rest, parameters);",
        f"    double gap = {step.name}_gap(now);",
        f"    while (steps < {MOST_STEPS} && gap > {number(EXACT)}) {{",
        "        double part = 1.0, left;",
        "        /* a step that opens the loops is taken by half */",
        "        do {",
        f"            for (int i = 0; i < {size}; ++i) trial[i] = {output}[i] + part * (now[i] - {output}[i]);",
        f"            {step.name}(trial, {passed}next, rest, parameters);",
        f"            left = {step.name}_gap(next);",
        "            part *= 0.5;",
        f"        }} while (!(left < gap) && part > {number(SHORTEST)});",
        "        if (!(left < gap)) break;",
        f"        for (int i = 0; i < {size}; ++i) {output}[i] = trial[i];",
        f"        for (int i = 0; i < {outputs}; ++i) now[i] = next[i];",
        "        gap = left;",
        "        ++steps;",
        "    }",
        *last,
        f"    return gap <= {number(CLOSED)} ? steps : -1;",
        "}",
        "",
    ]
    largest = [
        f"static double {step.name}_gap(const double *found)",
        "{",
        "    double most = 0.0;",
        f"    for (int i = {outputs - rows}; i < {outputs}; ++i) {{",
        "        /* what is no number is no small gap */",
        "        if (!(fabs(found[i]) <= most)) most = fabs(found[i]);",
        "    }",
        "    return most;",
        "}",
        "",
    ]
    text = "\n".join([step.text, *largest, *lines])
    return CFunction(text, prototype, size + 2 * outputs + step.workspace, name)


# ---- an instance

INSTANCE = """typedef struct {
    double parameters[ARM_PARAMETERS]; /* gravity and the constants of the links */
    double workspace[ARM_WORKSPACE];
} arm_instance;
"""

STEPPED_INSTANCE = """typedef void (*arm_effort)(double t, const double *q, const double *v, double *tau, void *user);

typedef struct {
    double parameters[ARM_PARAMETERS]; /* gravity and the constants of the links */
    double tau[TAU]; /* efforts of the drives, where effort is NULL */
    double force[ARM_SIZE]; /* further generalised forces */
    arm_effort effort; /* efforts of the drives as a function of time and state, or NULL */
    void *user; /* what effort is given */
    double workspace[ARM_WORKSPACE];
    double stepping[ARM_STEPPING];
    int pivots[ARM_SIZE];
} arm_instance;
"""


def instance_type(name: str, inputs: int, steppers: Sequence[str]) -> str:
    """The structure of a robot with its own parameters and workspace."""
    return named((STEPPED_INSTANCE if steppers else INSTANCE).replace("TAU", str(max(inputs, 1))), name)


def step_prototype(name: str, stepper: str) -> str:
    """A step in time."""
    return named(f"int arm_{stepper}(arm_instance *self, double t, double h, double *q, double *v);\n", name)


STEP_REMARKS = {
    "rk4": "One step of the classic Runge-Kutta method of order 4 from t to t + h; q and v are replaced. It is stable "
    "up to h = 2.8 over the highest angular frequency (1/s) of the robot. Returns 0, or -1 where loops could not be "
    "closed again or the state is no number.",
    "esdirk": "One step of Kennedy and Carpenter's ESDIRK4(3)6L[2]SA, of order 4 and L-stable: for stiff links, with "
    "Newton's method on the exact derivatives of forward. Efforts that depend on the state are not in them: they are "
    "iterated along. A step in which that does not converge (dry friction that sticks) is taken in up to 1024 parts. "
    "Returns 0, or -1 where the shortest part failed, the loops could not be closed again or the state is no number; "
    "q and v are then as they were.",
}

START = """void arm_start(arm_instance *self)
{
    for (int i = 0; i < ARM_PARAMETERS; ++i) self->parameters[i] = arm_parameters[i];
}
"""

STEPPED_START = """void arm_start(arm_instance *self)
{
    for (int i = 0; i < ARM_PARAMETERS; ++i) self->parameters[i] = arm_parameters[i];
    for (int i = 0; i < TAU; ++i) self->tau[i] = 0.0;
    for (int i = 0; i < ARM_SIZE; ++i) self->force[i] = 0.0;
    self->effort = NULL;
    self->user = NULL;
}
"""

FORCES = """static void arm_accelerations(arm_instance *self, double t, const double *q, const double *v, double *a)
{
    double *const f = self->stepping;
    double *const tau = self->stepping + ARM_SIZE;
    for (int i = 0; i < ARM_INPUTS; ++i) tau[i] = self->tau[i];
    if (self->effort) self->effort(t, q, v, tau, self->user);
    GENERALISED
    for (int i = 0; i < ARM_SIZE; ++i) f[i] += self->force[i];
    arm_forward(q, v, f, a, self->workspace, self->parameters);
}

/* q and v after a step, with closed loops; -1 where they are no numbers. */
static int arm_end(arm_instance *self, const double *q1, const double *v1, double *q, double *v)
{
    double sum = 0.0;
    for (int i = 0; i < ARM_SIZE; ++i) sum += fabs(q1[i]) + fabs(v1[i]);
    if (!(sum <= DBL_MAX)) return -1;
    END
    return 0;
}
"""
CLOSED_END = """double *const state = self->stepping + ARM_SIZE + TAU;
    if (arm_project(q1, v1, state, self->workspace, self->parameters) < 0) return -1;
    for (int i = 0; i < ARM_SIZE; ++i) {
        q[i] = state[i];
        v[i] = state[ARM_SIZE + i];
    }"""
OPEN_END = """(void)self;
    for (int i = 0; i < ARM_SIZE; ++i) {
        q[i] = q1[i];
        v[i] = v1[i];
    }"""

RK4 = """int arm_rk4(arm_instance *self, double t, double h, double *q, double *v)
{
    static const double part[4] = {0.0, 0.5, 0.5, 1.0};
    static const double weight[4] = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
    double *const q1 = self->stepping + ARM_OWN;
    double *const v1 = q1 + ARM_SIZE;
    double *const a = v1 + ARM_SIZE;
    double *const q2 = a + ARM_SIZE;
    double *const v2 = q2 + ARM_SIZE;
    for (int i = 0; i < ARM_SIZE; ++i) {
        v1[i] = v[i];
        a[i] = 0.0;
        q2[i] = q[i];
        v2[i] = v[i];
    }
    for (int s = 0; s < 4; ++s) {
        for (int i = 0; i < ARM_SIZE; ++i) {
            /* v1 and a are those of the stage before */
            q1[i] = q[i] + part[s] * h * v1[i];
            v1[i] = v[i] + part[s] * h * a[i];
        }
        arm_accelerations(self, t + part[s] * h, q1, v1, a);
        for (int i = 0; i < ARM_SIZE; ++i) {
            q2[i] += weight[s] * h * v1[i];
            v2[i] += weight[s] * h * a[i];
        }
    }
    return arm_end(self, q2, v2, q, v);
}
"""

ESDIRK = """/* LU of a matrix with row exchanges; 0, or -1 where it is singular. */
static int arm_factor(double *S, int *pivots)
{
    for (int k = 0; k < ARM_SIZE; ++k) {
        int best = k;
        for (int i = k + 1; i < ARM_SIZE; ++i) {
            if (fabs(S[ARM_SIZE * i + k]) > fabs(S[ARM_SIZE * best + k])) best = i;
        }
        pivots[k] = best;
        if (!(fabs(S[ARM_SIZE * best + k]) > 0.0)) return -1;
        for (int j = 0; best != k && j < ARM_SIZE; ++j) {
            const double x = S[ARM_SIZE * k + j];
            S[ARM_SIZE * k + j] = S[ARM_SIZE * best + j];
            S[ARM_SIZE * best + j] = x;
        }
        for (int i = k + 1; i < ARM_SIZE; ++i) {
            const double x = S[ARM_SIZE * i + k] / S[ARM_SIZE * k + k];
            S[ARM_SIZE * i + k] = x;
            for (int j = k + 1; j < ARM_SIZE; ++j) S[ARM_SIZE * i + j] -= x * S[ARM_SIZE * k + j];
        }
    }
    return 0;
}

static void arm_solve(const double *S, const int *pivots, double *x)
{
    for (int k = 0; k < ARM_SIZE; ++k) {
        const double y = x[pivots[k]];
        x[pivots[k]] = x[k];
        x[k] = y;
    }
    for (int i = 0; i < ARM_SIZE; ++i) {
        for (int j = 0; j < i; ++j) x[i] -= S[ARM_SIZE * i + j] * x[j];
    }
    for (int i = ARM_SIZE - 1; i >= 0; --i) {
        for (int j = i + 1; j < ARM_SIZE; ++j) x[i] -= S[ARM_SIZE * i + j] * x[j];
        x[i] /= S[ARM_SIZE * i + i];
    }
}

/* 1 - g da/dv - g^2 da/dq at a state, as factors; the forces are those of the last evaluation. */
static int arm_matrix(arm_instance *self, double g, const double *q, const double *v, double *S, double *by_q)
{
    const double *const f = self->stepping;
    arm_forward_by_q(q, v, f, by_q, self->workspace, self->parameters);
    arm_forward_by_v(q, v, f, S, self->workspace, self->parameters);
    for (int i = 0; i < ARM_SIZE; ++i) {
        for (int j = 0; j < ARM_SIZE; ++j) {
            const int k = ARM_SIZE * i + j;
            S[k] = (i == j ? 1.0 : 0.0) - g * S[k] - g * g * by_q[k];
        }
    }
    return arm_factor(S, self->pivots);
}

static double arm_largest(const double *x)
{
    double most = 0.0;
    for (int i = 0; i < ARM_SIZE; ++i) {
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
    }
    return most;
}

/* One implicit step; q and v stay as they are where it fails. */
static int arm_implicit(arm_instance *self, double t, double h, double *q, double *v)
{
    const double g = DIAGONAL * h;
    double *const V = self->stepping + ARM_OWN; /* rates, then accelerations of all stages */
    double *const A = V + STAGES * ARM_SIZE;
    double *const q1 = A + STAGES * ARM_SIZE;
    double *const base_q = q1 + ARM_SIZE;
    double *const base_v = base_q + ARM_SIZE;
    double *const change = base_v + ARM_SIZE;
    double *const S = change + ARM_SIZE;
    double *const by_q = S + ARM_SIZE * ARM_SIZE;
    int renewed = RENEWED;
    for (int i = 0; i < ARM_SIZE; ++i) V[i] = v[i];
    arm_accelerations(self, t, q, v, A);
    if (arm_matrix(self, g, q, v, S, by_q) < 0) return -1;
    for (int s = 1; s < STAGES; ++s) {
        double *const v1 = V + ARM_SIZE * s;
        double *const a = A + ARM_SIZE * s;
        double before = HUGE_VAL;
        int left = MOST;
        for (int i = 0; i < ARM_SIZE; ++i) {
            base_q[i] = q[i];
            base_v[i] = v[i];
            for (int j = 0; j < s; ++j) {
                base_q[i] += h * arm_weights[STAGES * s + j] * V[ARM_SIZE * j + i];
                base_v[i] += h * arm_weights[STAGES * s + j] * A[ARM_SIZE * j + i];
            }
            v1[i] = base_v[i] + g * A[ARM_SIZE * (s - 1) + i];
        }
        for (;;) {
            double size, whole;
            for (int i = 0; i < ARM_SIZE; ++i) q1[i] = base_q[i] + g * v1[i];
            arm_accelerations(self, t + arm_places[s] * h, q1, v1, a);
            for (int i = 0; i < ARM_SIZE; ++i) change[i] = base_v[i] + g * a[i] - v1[i];
            arm_solve(S, self->pivots, change);
            size = arm_largest(change);
            whole = arm_largest(v1) + g * arm_largest(a);
            if (!(size <= DBL_MAX)) return -1;
            for (int i = 0; i < ARM_SIZE; ++i) v1[i] += change[i];
            if (size <= FINE * whole || (size > 0.5 * before && size <= ROUGH * whole)) break;
            if (size > 0.5 * before || --left == 0) {
                /* the matrix of another state may serve */
                if (renewed-- == 0) return -1;
                left = MOST;
                if (arm_matrix(self, g, q1, v1, S, by_q) < 0) return -1;
                size = HUGE_VAL;
            }
            before = size;
        }
        for (int i = 0; i < ARM_SIZE; ++i) {
            q1[i] = base_q[i] + g * v1[i];
            a[i] = (v1[i] - base_v[i]) / g;
        }
    }
    return arm_end(self, q1, V + ARM_SIZE * (STAGES - 1), q, v);
}

int arm_esdirk(arm_instance *self, double t, double h, double *q, double *v)
{
    double *const first = self->stepping + ARM_OWN + ARM_BEHIND;
    int at = 0, part = PARTS;
    for (int i = 0; i < ARM_SIZE; ++i) {
        first[i] = q[i];
        first[ARM_SIZE + i] = v[i];
    }
    while (at < PARTS) {
        if (arm_implicit(self, t + h * at / PARTS, h * part / PARTS, q, v) == 0) {
            at += part;
            /* longer again as soon as a whole number of them is left */
            if (part < PARTS && at % (2 * part) == 0) part *= 2;
        } else {
            part /= 2;
            if (part == 0) {
                for (int i = 0; i < ARM_SIZE; ++i) {
                    q[i] = first[i];
                    v[i] = first[ARM_SIZE + i];
                }
                return -1;
            }
        }
    }
    return 0;
}
"""

FINE, ROUGH, MOST = 1e-14, 1e-9, 20
"""Changes of rates, as parts of them, at which Newton's iteration ends, and may end where rounding stops it; steps."""
RENEWED = 3
"""Newton matrices of a step beside the first."""
PARTS = 1024
"""Parts into which a step is divided at the most where Newton's method does not converge: dry friction that sticks."""


def steps_text(name: str, size: int, inputs: int, wanted: Sequence[str], *, closed: bool) -> str:
    """The start of an instance, and steps in time with what they need beside forward and its derivatives."""
    if not wanted:
        return named(START, name)
    generalised = "arm_generalised(tau, f);" if inputs else "for (int i = 0; i < ARM_SIZE; ++i) f[i] = 0.0;"
    parts = [
        STEPPED_START,
        FORCES.replace("GENERALISED", generalised).replace("END", CLOSED_END if closed else OPEN_END),
    ]
    if "rk4" in wanted:
        parts.append(RK4)
    if "esdirk" in wanted:
        weights = [number(x) for row in esdirk4().A for x in row]
        places = [number(x) for x in esdirk4().c]
        parts.append(table(f"static const double arm_weights[{STAGES * STAGES}]", weights))
        parts.append(table(f"static const double arm_places[{STAGES}]", places))
        numbers = {"STAGES": str(STAGES), "DIAGONAL": number(DIAGONAL), "MOST": str(MOST)}
        numbers |= {"FINE": number(FINE), "ROUGH": number(ROUGH), "RENEWED": str(RENEWED), "PARTS": str(PARTS)}
        numbers["ARM_BEHIND"] = str(_implicit_size(size))
        text = ESDIRK
        for key, value in numbers.items():
            text = text.replace(key, value)
        parts.append(text)
    return named("\n".join(parts).replace("ARM_OWN", str(_own(size, inputs))).replace("TAU", str(max(inputs, 1))), name)


def _own(size: int, inputs: int) -> int:
    """Doubles of ``stepping`` before the stages: f, tau, a projected state."""
    return 3 * size + max(inputs, 1)


def stepping_size(size: int, inputs: int, wanted: Sequence[str]) -> int:
    """Doubles of ``stepping``."""
    stages = _implicit_size(size) + 2 * size if "esdirk" in wanted else 5 * size
    return _own(size, inputs) + stages


def _implicit_size(size: int) -> int:
    """Doubles of an implicit step: rates and accelerations of its stages, four vectors, two matrices."""
    return (2 * STAGES + 4) * size + 2 * size * size
