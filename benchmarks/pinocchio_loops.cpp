// Pinocchio's algorithms called in compiled loops, so that no Python call is part of the time.
// Built by peers.py with the flags Pinocchio recommends (-O3 -march=native -DNDEBUG), templates compiled here.

#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <string>

namespace pin = pinocchio;
using Matrix3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using In = Eigen::Map<const Eigen::VectorXd>;

struct Peer {
    pin::Model model;
    pin::Data data;
    Eigen::VectorXd q, v, x;
    Eigen::MatrixXd dq, dv, dx;
};

extern "C" {

// parents: -1 is the base; axes: 0, 1, 2; placements: 9 + 3 numbers per link; bodies: mass, com (3), inertia about it (9)
void *peer_make(long n, const long *parents, const long *axes, const double *placements, const double *bodies,
                const double *gravity)
{
    Peer *peer = new Peer;
    peer->model.gravity.linear() = Eigen::Map<const Eigen::Vector3d>(gravity);
    for (long i = 0; i < n; ++i) {
        const double *at = placements + 12 * i, *body = bodies + 13 * i;
        const pin::SE3 placement(Eigen::Map<const Matrix3>(at), Eigen::Map<const Eigen::Vector3d>(at + 9));
        const pin::Inertia inertia(body[0], Eigen::Map<const Eigen::Vector3d>(body + 1),
                                   Eigen::Map<const Matrix3>(body + 4));
        const std::string name = "j" + std::to_string(i);
        const pin::JointIndex parent = parents[i] + 1;
        pin::JointIndex joint = 0;
        if (axes[i] == 0) joint = peer->model.addJoint(parent, pin::JointModelRX(), placement, name);
        if (axes[i] == 1) joint = peer->model.addJoint(parent, pin::JointModelRY(), placement, name);
        if (axes[i] == 2) joint = peer->model.addJoint(parent, pin::JointModelRZ(), placement, name);
        peer->model.appendBodyToJoint(joint, inertia, pin::SE3::Identity());
    }
    peer->data = pin::Data(peer->model);
    peer->dq = peer->dv = peer->dx = Eigen::MatrixXd::Zero(n, n);
    return peer;
}

// the inputs are copied once: the loop itself works on aligned Eigen vectors
void peer_set(void *handle, const double *q, const double *v, const double *x)
{
    Peer &p = *static_cast<Peer *>(handle);
    const long n = p.model.nv;
    p.q = In(q, n), p.v = In(v, n), p.x = In(x, n);
}

void peer_aba_local(void *handle, long count)
{
    Peer &p = *static_cast<Peer *>(handle);
    for (long k = 0; k < count; ++k) pin::aba(p.model, p.data, p.q, p.v, p.x, pin::Convention::LOCAL);
}

void peer_aba_world(void *handle, long count)
{
    Peer &p = *static_cast<Peer *>(handle);
    for (long k = 0; k < count; ++k) pin::aba(p.model, p.data, p.q, p.v, p.x, pin::Convention::WORLD);
}

void peer_rnea(void *handle, long count)
{
    Peer &p = *static_cast<Peer *>(handle);
    for (long k = 0; k < count; ++k) pin::rnea(p.model, p.data, p.q, p.v, p.x);
}

void peer_crba(void *handle, long count)
{
    Peer &p = *static_cast<Peer *>(handle);
    for (long k = 0; k < count; ++k) pin::crba(p.model, p.data, p.q, pin::Convention::WORLD);
}

void peer_rnea_derivatives(void *handle, long count)
{
    Peer &p = *static_cast<Peer *>(handle);
    for (long k = 0; k < count; ++k) {
        pin::computeRNEADerivatives(p.model, p.data, p.q, p.v, p.x, p.dq, p.dv, p.dx);
    }
}

void peer_aba_derivatives(void *handle, long count)
{
    Peer &p = *static_cast<Peer *>(handle);
    for (long k = 0; k < count; ++k) {
        pin::computeABADerivatives(p.model, p.data, p.q, p.v, p.x, p.dq, p.dv, p.dx);
    }
}

// the last results, to be compared with ours: accelerations, then efforts
void peer_results(void *handle, double *accelerations, double *efforts)
{
    Peer &p = *static_cast<Peer *>(handle);
    Eigen::Map<Eigen::VectorXd>(accelerations, p.model.nv) = p.data.ddq;
    Eigen::Map<Eigen::VectorXd>(efforts, p.model.nv) = p.data.tau;
}
}
