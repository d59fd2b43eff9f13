"""The C of a functional mock-up unit around exported functions: FMI 2.0, model exchange and co-simulation.

``arm`` stands for the robot's name. Types and functions are those of the standard, as far as they are used; they are
declared here, so that the sources need no other headers.
"""

WRAPPER = """#include "arm.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#if defined _WIN32 || defined __CYGWIN__
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* ---- types of FMI 2.0 */

typedef void *fmi2Component, *fmi2ComponentEnvironment, *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer, fmi2Boolean;
typedef char fmi2Char, fmi2Byte;
typedef const fmi2Char *fmi2String;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;
typedef void (*fmi2CallbackLogger)(
    fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
typedef struct {
    fmi2CallbackLogger logger;
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;
typedef struct {
    fmi2Boolean newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged;
    fmi2Boolean valuesOfContinuousStatesChanged, nextEventTimeDefined;
    fmi2Real nextEventTime;
} fmi2EventInfo;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the component */

enum { N = ARM_SIZE, INPUTS = ARM_INPUTS, PLACES = 3 * ARM_FRAMES };
enum { Q = 0, V = N, DQ = 2 * N, A = 3 * N, TAU = 4 * N, PLACE = 4 * N + INPUTS, STEP = PLACE + PLACES, P = STEP + 1 };
enum { VALUES = P + ARM_PARAMETERS };

/* what a state of the unit is; nothing of it is an address */
typedef struct {
    double time, step, q[N], v[N], tau[INPUTS > 0 ? INPUTS : 1], parameters[ARM_PARAMETERS];
} Kept;

typedef struct {
    Kept kept;
    arm_instance robot;
    fmi2CallbackFunctions callbacks;
    int known; /* whether what follows belongs to the state */
    double a[N], f[N], poses[12 * ARM_FRAMES > 0 ? 12 * ARM_FRAMES : 1];
    double by_q[N * N], by_v[N * N], by_f[N * N], J[6 * ARM_FRAMES * N > 0 ? 6 * ARM_FRAMES * N : 1];
    double state[2 * N];
    char name[64];
} Unit;

static const double arm_first[2 * N] = {FIRST};

static fmi2Status refused(Unit *unit, const char *message)
{
    if (unit->callbacks.logger) {
        unit->callbacks.logger(unit->callbacks.componentEnvironment, unit->name, fmi2Error, "logStatusError", message);
    }
    return fmi2Error;
}

static void start(Unit *unit)
{
    Kept *const kept = &unit->kept;
    arm_start(&unit->robot);
    kept->time = 0.0;
    kept->step = FIRST_STEP;
    for (int i = 0; i < N; ++i) {
        kept->q[i] = arm_first[i];
        kept->v[i] = arm_first[N + i];
    }
    for (int i = 0; i < INPUTS; ++i) kept->tau[i] = 0.0;
    for (int i = 0; i < ARM_PARAMETERS; ++i) kept->parameters[i] = arm_parameters[i];
    unit->known = 0;
}

static void forces(Unit *unit)
{
    GENERALISED
}

static void find(Unit *unit)
{
    const Kept *const kept = &unit->kept;
    if (unit->known) return;
    forces(unit);
    arm_forward(kept->q, kept->v, unit->f, unit->a, unit->robot.workspace, kept->parameters);
    POSE
    unit->known = 1;
}

static double value(Unit *unit, fmi2ValueReference r)
{
    const Kept *const kept = &unit->kept;
    const int k = (int)r;
    if (k < V) return kept->q[k - Q];
    if (k < DQ) return kept->v[k - V];
    if (k < A) return kept->v[k - DQ];
    if (k < TAU) {
        find(unit);
        return unit->a[k - A];
    }
    if (k < PLACE) return kept->tau[k - TAU];
    if (k < STEP) {
        find(unit);
        return unit->poses[12 * ((k - PLACE) / 3) + (k - PLACE) % 3];
    }
    return k == STEP ? kept->step : kept->parameters[k - P];
}

/* ---- making, starting and ending */

EXPORTED const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORTED const char *fmi2GetVersion(void) { return "2.0"; }

EXPORTED fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
    const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    Unit *unit;
    (void)type;
    (void)resources;
    (void)visible;
    (void)logging;
    if (!functions || !functions->allocateMemory || !functions->freeMemory || !guid || !name) return NULL;
    if (strcmp(guid, "GUID") != 0) {
        if (functions->logger) {
            functions->logger(functions->componentEnvironment, name, fmi2Error, "logStatusError", "wrong GUID");
        }
        return NULL;
    }
    unit = (Unit *)functions->allocateMemory(1, sizeof(Unit));
    if (!unit) return NULL;
    unit->callbacks = *functions;
    strncpy(unit->name, name, sizeof unit->name - 1);
    unit->name[sizeof unit->name - 1] = '\\0';
    start(unit);
    return unit;
}

EXPORTED void fmi2FreeInstance(fmi2Component c)
{
    if (c) ((Unit *)c)->callbacks.freeMemory(c);
}

EXPORTED fmi2Status fmi2Reset(fmi2Component c)
{
    start((Unit *)c);
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t count, const fmi2String names[])
{
    (void)c;
    (void)on;
    (void)count;
    (void)names;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean given, fmi2Real tolerance, fmi2Real begin,
    fmi2Boolean ends, fmi2Real end)
{
    (void)given;
    (void)tolerance;
    (void)ends;
    (void)end;
    ((Unit *)c)->kept.time = begin;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return c ? fmi2OK : fmi2Error; }

EXPORTED fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    Unit *const unit = (Unit *)c;
    CLOSE
    unit->known = 0;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2Terminate(fmi2Component c) { return c ? fmi2OK : fmi2Error; }

/* ---- values */

EXPORTED fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t count, fmi2Real values[])
{
    for (size_t i = 0; i < count; ++i) {
        if (r[i] >= VALUES) return refused((Unit *)c, "there is no such value reference");
        values[i] = value((Unit *)c, r[i]);
    }
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t count, const fmi2Real values[])
{
    Unit *const unit = (Unit *)c;
    for (size_t i = 0; i < count; ++i) {
        const int k = (int)r[i];
        if (r[i] < DQ) {
            (k < V ? unit->kept.q : unit->kept.v)[k % N] = values[i];
        } else if (r[i] >= TAU && r[i] < PLACE) {
            unit->kept.tau[k - TAU] = values[i];
        } else if (r[i] == STEP) {
            if (!(values[i] > 0.0)) return refused(unit, "step must be positive");
            unit->kept.step = values[i];
        } else if (r[i] >= P && r[i] < VALUES) {
            unit->kept.parameters[k - P] = values[i];
        } else {
            return refused(unit, "this value follows from others and cannot be set");
        }
    }
    unit->known = 0;
    return fmi2OK;
}

#define NONE(NAME, TYPE) \\
    EXPORTED fmi2Status fmi2Get##NAME(fmi2Component c, const fmi2ValueReference r[], size_t count, TYPE values[]) \\
    { \\
        (void)r; \\
        (void)values; \\
        return count ? refused((Unit *)c, "all variables are real numbers") : fmi2OK; \\
    } \\
    EXPORTED fmi2Status fmi2Set##NAME( \\
        fmi2Component c, const fmi2ValueReference r[], size_t count, const TYPE values[]) \\
    { \\
        (void)r; \\
        (void)values; \\
        return count ? refused((Unit *)c, "all variables are real numbers") : fmi2OK; \\
    }
NONE(Integer, fmi2Integer)
NONE(Boolean, fmi2Boolean)
NONE(String, fmi2String)

/* ---- states of the unit */

EXPORTED fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    Unit *const unit = (Unit *)c;
    if (!*state) *state = unit->callbacks.allocateMemory(1, sizeof(Kept));
    if (!*state) return refused(unit, "no memory");
    memcpy(*state, &unit->kept, sizeof(Kept));
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    Unit *const unit = (Unit *)c;
    memcpy(&unit->kept, state, sizeof(Kept));
    unit->known = 0;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    if (*state) ((Unit *)c)->callbacks.freeMemory(*state);
    *state = NULL;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    (void)c;
    (void)state;
    *size = sizeof(Kept);
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    if (size < sizeof(Kept)) return refused((Unit *)c, "too few bytes for a state");
    memcpy(bytes, state, sizeof(Kept));
    return fmi2OK;
}

EXPORTED fmi2Status fmi2DeSerializeFMUstate(
    fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    Unit *const unit = (Unit *)c;
    if (size < sizeof(Kept)) return refused(unit, "too few bytes for a state");
    if (!*state) *state = unit->callbacks.allocateMemory(1, sizeof(Kept));
    if (!*state) return refused(unit, "no memory");
    memcpy(*state, bytes, sizeof(Kept));
    return fmi2OK;
}

/* ---- derivatives */

EXPORTED fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t unknowns,
    const fmi2ValueReference known[], size_t knowns, const fmi2Real direction[], fmi2Real derivative[])
{
    Unit *const unit = (Unit *)c;
    const Kept *const kept = &unit->kept;
    double *const work = unit->robot.workspace;
    double *const dq = unit->state, *const dv = unit->state + N;
    double dtau[INPUTS > 0 ? INPUTS : 1] = {0.0}, df[N];
    for (int i = 0; i < N; ++i) dq[i] = dv[i] = df[i] = 0.0;
    for (size_t i = 0; i < knowns; ++i) {
        const int k = (int)known[i];
        if (known[i] < V) dq[k] += direction[i];
        else if (known[i] < DQ) dv[k - V] += direction[i];
        else if (known[i] >= TAU && known[i] < PLACE) dtau[k - TAU] += direction[i];
        else return refused(unit, "there are derivatives by states and inputs only");
    }
    DIRECTED
    forces(unit);
    arm_forward_by_q(kept->q, kept->v, unit->f, unit->by_q, work, kept->parameters);
    arm_forward_by_v(kept->q, kept->v, unit->f, unit->by_v, work, kept->parameters);
    arm_forward_by_f(kept->q, kept->v, unit->f, unit->by_f, work, kept->parameters);
    JACOBIAN
    for (size_t i = 0; i < unknowns; ++i) {
        const int k = (int)unknown[i];
        double sum = 0.0;
        if (unknown[i] >= DQ && unknown[i] < A) {
            sum = dv[k - DQ];
        } else if (unknown[i] >= A && unknown[i] < TAU) {
            for (int j = 0; j < N; ++j) {
                const int at = N * (k - A) + j;
                sum += unit->by_q[at] * dq[j] + unit->by_v[at] * dv[j] + unit->by_f[at] * df[j];
            }
        } else if (unknown[i] >= PLACE && unknown[i] < STEP) {
            const int row = 6 * ((k - PLACE) / 3) + (k - PLACE) % 3;
            for (int j = 0; j < N; ++j) sum += unit->J[N * row + j] * dq[j];
        } else {
            return refused(unit, "there are derivatives of the states' derivatives and of outputs only");
        }
        derivative[i] = sum;
    }
    return fmi2OK;
}

/* ---- model exchange */

EXPORTED fmi2Status fmi2EnterEventMode(fmi2Component c) { return c ? fmi2OK : fmi2Error; }
EXPORTED fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) { return c ? fmi2OK : fmi2Error; }

EXPORTED fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    (void)c;
    memset(info, 0, sizeof *info);
    return fmi2OK;
}

EXPORTED fmi2Status fmi2CompletedIntegratorStep(
    fmi2Component c, fmi2Boolean unchanged, fmi2Boolean *event, fmi2Boolean *ended)
{
    (void)c;
    (void)unchanged;
    *event = *ended = 0;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    ((Unit *)c)->kept.time = time;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t count)
{
    Unit *const unit = (Unit *)c;
    if (count != 2 * N) return refused(unit, "wrong number of states");
    for (int i = 0; i < N; ++i) {
        unit->kept.q[i] = x[i];
        unit->kept.v[i] = x[N + i];
    }
    unit->known = 0;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t count)
{
    const Unit *const unit = (const Unit *)c;
    if (count != 2 * N) return fmi2Error;
    for (int i = 0; i < N; ++i) {
        x[i] = unit->kept.q[i];
        x[N + i] = unit->kept.v[i];
    }
    return fmi2OK;
}

EXPORTED fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real rates[], size_t count)
{
    Unit *const unit = (Unit *)c;
    if (count != 2 * N) return refused(unit, "wrong number of states");
    find(unit);
    for (int i = 0; i < N; ++i) {
        rates[i] = unit->kept.v[i];
        rates[N + i] = unit->a[i];
        if (!isfinite(unit->a[i])) return refused(unit, "the accelerations are no numbers");
    }
    return fmi2OK;
}

EXPORTED fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real values[], size_t count)
{
    (void)c;
    (void)values;
    return count ? fmi2Error : fmi2OK;
}

EXPORTED fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t count)
{
    (void)c;
    for (size_t i = 0; i < count; ++i) nominals[i] = 1.0;
    return fmi2OK;
}

/* ---- co-simulation */

EXPORTED fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real size, fmi2Boolean forget)
{
    Unit *const unit = (Unit *)c;
    Kept *const kept = &unit->kept;
    const double steps = ceil(size / kept->step - 1e-9);
    const double h = size / (steps > 1.0 ? steps : 1.0);
    (void)forget;
    if (!(size >= 0.0)) return refused(unit, "a step cannot go back");
    for (int i = 0; i < ARM_PARAMETERS; ++i) unit->robot.parameters[i] = kept->parameters[i];
    for (int i = 0; i < INPUTS; ++i) unit->robot.tau[i] = kept->tau[i];
    for (double k = 0.0; size > 0.0 && k < (steps > 1.0 ? steps : 1.0); k += 1.0) {
        if (arm_esdirk(&unit->robot, time + k * h, h, kept->q, kept->v)) {
            return refused(unit, "a step failed: the loops do not close, or the state is no number");
        }
    }
    kept->time = time + size;
    unit->known = 0;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2CancelStep(fmi2Component c) { return refused((Unit *)c, "steps are not interrupted"); }

EXPORTED fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference r[], size_t count,
    const fmi2Integer orders[], const fmi2Real values[])
{
    (void)r;
    (void)orders;
    (void)values;
    return count ? refused((Unit *)c, "inputs are held within a step") : fmi2OK;
}

EXPORTED fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference r[], size_t count,
    const fmi2Integer orders[], fmi2Real values[])
{
    (void)r;
    (void)orders;
    (void)values;
    return count ? refused((Unit *)c, "derivatives of outputs are not offered") : fmi2OK;
}

#define STATUS(NAME, TYPE) \\
    EXPORTED fmi2Status fmi2Get##NAME(fmi2Component c, const fmi2StatusKind kind, TYPE *found) \\
    { \\
        (void)c; \\
        (void)kind; \\
        (void)found; \\
        return fmi2Discard; \\
    }
STATUS(Status, fmi2Status)
STATUS(IntegerStatus, fmi2Integer)
STATUS(BooleanStatus, fmi2Boolean)
STATUS(StringStatus, fmi2String)

EXPORTED fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *found)
{
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *found = ((const Unit *)c)->kept.time;
    return fmi2OK;
}

#ifdef __cplusplus
}
#endif
"""

OPTIONAL = {
    "GENERALISED": (
        "arm_generalised(unit->kept.tau, unit->f);",
        "for (int i = 0; i < N; ++i) unit->f[i] = 0.0;",
    ),
    "DIRECTED": ("arm_generalised(dtau, df);", "(void)dtau;"),
    "POSE": ("arm_pose(kept->q, unit->poses, unit->robot.workspace, kept->parameters);", ""),
    "JACOBIAN": ("arm_jacobian(kept->q, unit->J, work, kept->parameters);", ""),
    "CLOSE": (
        """Kept *const kept = &unit->kept;
    if (arm_project(kept->q, kept->v, unit->state, unit->robot.workspace, kept->parameters) < 0) {
        return refused(unit, "the loops do not close near these start values");
    }
    for (int i = 0; i < N; ++i) {
        kept->q[i] = unit->state[i];
        kept->v[i] = unit->state[N + i];
    }""",
        "",
    ),
}
"""Texts of robots that have drives, frames or loops, and of those that have not."""
