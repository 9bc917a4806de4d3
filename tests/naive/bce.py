"""Bayesian cluster ensembles sample by sample, with the bound in full."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, polygamma, psi


def memberships(row, alpha, betas, weights, tol=0.01, rounds=500):
    """phi (one list of c a member, None where the label is missing) and gamma of one sample."""
    c = len(alpha)
    seen = [j for j, label in enumerate(row) if label >= 0]
    votes = sum(weights[j] for j in seen)
    phi = {j: np.full(c, 1 / c) for j in seen}
    gamma = alpha + votes / c
    for _ in range(rounds):
        expected = psi(gamma) - psi(gamma.sum())
        new = {}
        for j in seen:
            share = betas[j][:, row[j]] * np.exp(expected)
            new[j] = share / share.sum()
        new_gamma = alpha + sum(weights[j] * new[j] for j in seen)
        moved = sum(weights[j] * np.abs(new[j] - phi[j]).sum() for j in seen) / votes
        turned = np.abs(new_gamma - gamma).sum() / gamma.sum()
        phi, gamma = new, new_gamma
        if max(moved, turned) <= tol:
            break
    return phi, gamma


def bound(row, alpha, betas, weights, phi, gamma):
    """E[log p(theta, z, y)] - E[log q(theta, z)], term by term."""
    expected = psi(gamma) - psi(gamma.sum())
    value = gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * expected).sum()
    value -= gammaln(gamma.sum()) - gammaln(gamma).sum() + ((gamma - 1) * expected).sum()
    for j, share in phi.items():
        logs = np.log(np.where(share > 0, share, 1.0))
        value += weights[j] * (share * (expected + np.log(betas[j][:, row[j]]) - logs)).sum()
    return value


def newton(alpha, gammas, tol=1e-3, steps=500):
    """The Dirichlet parameters for given posteriors, with the c x c Hessian."""
    n = len(gammas)
    logs = sum(psi(gamma) - psi(gamma.sum()) for gamma in gammas)
    for _ in range(steps):
        slope = logs + n * (psi(alpha.sum()) - psi(alpha))
        hessian = n * polygamma(1, alpha.sum()) - np.diag(n * polygamma(1, alpha))
        step = np.linalg.solve(hessian, slope)
        size = 1.0
        while (alpha - size * step <= 0).any():
            size /= 2
        moved = alpha - size * step
        change = np.abs(moved - alpha).sum() / alpha.sum()
        alpha = moved
        if change <= tol:
            break
    return alpha


def bce(labels, alpha, betas, weights, passes):
    """Passes of variational EM; betas is a list of c x k_j matrices."""
    bounds = []
    for _ in range(passes):
        fitted = [memberships(row, alpha, betas, weights) for row in labels]
        bounds.append(
            sum(
                bound(row, alpha, betas, weights, phi, gamma)
                for row, (phi, gamma) in zip(labels, fitted, strict=True)
            )
        )
        new = []
        for j, beta in enumerate(betas):
            counts = np.full(beta.shape, 1e-6)
            for row, (phi, _) in zip(labels, fitted, strict=True):
                if row[j] >= 0:
                    counts[:, row[j]] += phi[j]
            new.append(counts / counts.sum(axis=1, keepdims=True))
        betas = new
        alpha = newton(alpha, [gamma for _, gamma in fitted])
    gammas = np.array([memberships(row, alpha, betas, weights)[1] for row in labels])
    return alpha, betas, gammas, bounds
