"""One gradient step of SAC, REDQ and SUNRISE in plain NumPy (float64, back-propagation by hand).

A test oracle, written from the methods' description alone: slow, explicit, free of autodiff.

Shapes: B rows of a batch, A action size, N members (SUNRISE), C critics per member. MLPs, critics,
batches and Adam states are those of `numpy_updates`. An actor is an MLP of the observation with 2A
outputs: A means, then A log standard deviations, clipped to [-20, 2].

A learner ("member") is a dict: actor, critics and target_critics (C MLPs each), actor_opt,
critic_opts (C), log_temperature (float), temperature_opt (count, and floats mu and nu).
No function changes its arguments.
"""

import numpy as np

from tests.reference.numpy_updates import (
    ADAM_BETA1,
    ADAM_BETA2,
    ADAM_EPS,
    _copy_mlp,
    _copy_opt,
    _float_batch,
    adam_step,
    bellman_target,
    critic_action_gradient,
    min_critic_value,
    mlp_backward,
    mlp_forward,
    polyak,
)

LOG_STD_MIN = -20.0
LOG_STD_MAX = 2.0


# ------------------------------------------------------------------------------------- inputs


def _copy_member(member):
    temperature_opt = member["temperature_opt"]
    return {
        "actor": _copy_mlp(member["actor"]),
        "critics": [_copy_mlp(critic) for critic in member["critics"]],
        "target_critics": [_copy_mlp(critic) for critic in member["target_critics"]],
        "actor_opt": _copy_opt(member["actor_opt"]),
        "critic_opts": [_copy_opt(opt) for opt in member["critic_opts"]],
        "log_temperature": float(member["log_temperature"]),
        "temperature_opt": {
            "count": int(temperature_opt["count"]),
            "mu": float(temperature_opt["mu"]),
            "nu": float(temperature_opt["nu"]),
        },
    }


def _float_array(name, array, shape):
    """The array in float64; refuses any other shape than `shape`."""
    out = np.array(array, dtype=np.float64)
    if out.shape != shape:
        raise ValueError(f"{name} has shape {out.shape}, expected {shape}")
    return out


# ------------------------------------------------------------------------- tanh-Gaussian policy


def _policy_forward(actor, obs, xi):
    """Action (B, A), log pi(a | s) (B,), and what `_policy_backward` needs."""
    output, layer_inputs = mlp_forward(actor, obs)  # (B, 2A)
    mean, raw_log_std = np.split(output, 2, axis=1)
    xi = _float_array("action noise", xi, mean.shape)
    log_std = np.clip(raw_log_std, LOG_STD_MIN, LOG_STD_MAX)
    offset = np.exp(log_std) * xi
    u = mean + offset
    action = np.tanh(u)
    log_slope = 2.0 * (np.log(2.0) - u - np.logaddexp(0.0, -2.0 * u))  # log(1 - tanh(u)^2)
    log_gaussian = -0.5 * xi**2 - log_std - 0.5 * np.log(2.0 * np.pi)  # of u, whose xi is a constant
    log_prob = np.sum(log_gaussian - log_slope, axis=1)
    not_clipped = (raw_log_std >= LOG_STD_MIN) & (raw_log_std <= LOG_STD_MAX)
    return action, log_prob, (layer_inputs, action, offset, not_clipped)


def _policy_backward(actor, cache, grad_action, grad_log_prob):
    """Gradients of the actor's parameters, given those of the action (B, A) and of log pi (B,)."""
    layer_inputs, action, offset, not_clipped = cache
    grad_log_prob = grad_log_prob[:, None]  # (B, 1)
    # log pi holds -log(1 - tanh(u)^2), whose derivative in u is 2 tanh(u), and -log_std.
    grad_u = grad_action * (1.0 - action**2) + grad_log_prob * 2.0 * action
    grad_mean = grad_u
    grad_log_std = (grad_u * offset - grad_log_prob) * not_clipped  # d u / d log_std = exp(log_std) xi
    grads, _ = mlp_backward(actor, layer_inputs, np.concatenate([grad_mean, grad_log_std], axis=1))
    return grads


def tanh_gaussian(actor, obs, xi):
    """a = tanh(mean + exp(log_std) xi) (B, A) and log pi(a | s) (B,), for standard normal xi (B, A)."""
    action, log_prob, _ = _policy_forward(_copy_mlp(actor), np.array(obs, dtype=np.float64), xi)
    return action, log_prob


# ------------------------------------------------------------------- losses and their gradients


def weighted_critic_loss_and_grads(critic, obs, action, y, weight):
    """mean_b weight_b (y - Q(s, a))^2 and its gradient in the critic's parameters."""
    output, cache = mlp_forward(critic, np.concatenate([obs, action], axis=1))  # (B, 1)
    error = output[:, 0] - y  # (B,)
    grads, _ = mlp_backward(critic, cache, (2.0 * weight * error / len(y))[:, None])
    return np.mean(weight * error**2), grads


def joint_value_and_action_gradient(critics, obs, action, actor_q):
    """Qhat(s, a) (B,), the "min" or the "mean" over the critics, and dQhat/da (B, A), row by row."""
    pairs = [critic_action_gradient(critic, obs, action) for critic in critics]
    values = np.stack([value for value, _ in pairs])  # (C, B)
    grads = np.stack([grad for _, grad in pairs])  # (C, B, A)
    if actor_q == "mean":
        return values.mean(axis=0), grads.mean(axis=0)
    if actor_q == "min":
        least = values.argmin(axis=0)  # (B,)
        rows = np.arange(len(obs))
        return values[least, rows], grads[least, rows]
    raise ValueError(f"unknown actor_q {actor_q!r}")


def soft_actor_loss_and_grads(actor, critics, obs, xi, temperature, actor_q, mask):
    """mean_b mask_b (temperature log pi(a | s) - Qhat(s, a)), a = a(s, xi), its gradient, and log pi (B,)."""
    action, log_prob, cache = _policy_forward(actor, obs, xi)
    value, grad_value = joint_value_and_action_gradient(critics, obs, action, actor_q)
    loss = np.mean(mask * (temperature * log_prob - value))
    row_weight = mask / len(obs)  # (B,)
    grads = _policy_backward(actor, cache, -row_weight[:, None] * grad_value, row_weight * temperature)
    return loss, grads, log_prob


def temperature_loss_and_grad(log_temperature, log_prob, target_entropy, mask):
    """mean_b mask_b (-exp(log_temperature) (log pi + target_entropy)) and its slope in log_temperature."""
    loss = -np.exp(log_temperature) * np.mean(mask * (log_prob + target_entropy))
    return loss, loss  # exp is its own derivative


def adam_step_scalar(value, grad, opt, lr):
    """`adam_step` of one number."""
    count = opt["count"] + 1
    mu = ADAM_BETA1 * opt["mu"] + (1.0 - ADAM_BETA1) * grad
    nu = ADAM_BETA2 * opt["nu"] + (1.0 - ADAM_BETA2) * grad**2
    mu_hat = mu / (1.0 - ADAM_BETA1**count)
    nu_hat = nu / (1.0 - ADAM_BETA2**count)
    value = value - lr * mu_hat / (np.sqrt(nu_hat) + ADAM_EPS)
    return float(value), {"count": count, "mu": float(mu), "nu": float(nu)}


# --------------------------------------------------- pieces of one step (they change `member`)


def _step_critics(member, batch, y, weight, lr):
    """Every critic regresses on y with its own Adam. Returns the C losses, taken before the step."""
    losses = []
    for c, critic in enumerate(member["critics"]):
        loss, grads = weighted_critic_loss_and_grads(critic, batch["obs"], batch["action"], y, weight)
        member["critics"][c], member["critic_opts"][c] = adam_step(critic, grads, member["critic_opts"][c], lr)
        losses.append(loss)
    return losses


def _step_actor_and_temperature(member, batch, xi, mask, lr, actor_q, fixed_temperature=None):
    """The actor follows the critics as they are now, then the temperature follows the old actor's log pi.

    Returns the actor's loss, taken before the step, and the mean of log pi over all rows.
    """
    temperature = _temperature(member, fixed_temperature)
    actor_loss, grads, log_prob = soft_actor_loss_and_grads(
        member["actor"], member["critics"], batch["obs"], xi, temperature, actor_q, mask
    )
    member["actor"], member["actor_opt"] = adam_step(member["actor"], grads, member["actor_opt"], lr)
    if fixed_temperature is None:
        target_entropy = -float(batch["action"].shape[1])
        _, grad = temperature_loss_and_grad(member["log_temperature"], log_prob, target_entropy, mask)
        member["log_temperature"], member["temperature_opt"] = adam_step_scalar(
            member["log_temperature"], grad, member["temperature_opt"], lr
        )
    return actor_loss, np.mean(log_prob)


def _step_targets(member, tau):
    member["target_critics"] = [
        polyak(target, online, tau) for target, online in zip(member["target_critics"], member["critics"], strict=True)
    ]


def _temperature(member, fixed_temperature=None):
    return np.exp(member["log_temperature"]) if fixed_temperature is None else float(fixed_temperature)


def soft_target(batch, target_critics, next_action, next_log_prob, temperature, gamma):
    """r + gamma (1 - terminated) (min_c Q'_c(s', a') - temperature log pi(a' | s')): (B,)."""
    next_value = min_critic_value(target_critics, batch["next_obs"], next_action)
    return bellman_target(batch, next_value - temperature * next_log_prob, gamma)


# --------------------------------------------------------------------------------- SAC and REDQ


def _single_update(
    member, batch, next_xi, xi, subset, *, lr, gamma, tau, actor_q, do_actor=True, fixed_temperature=None
):
    """SAC with the target's minimum over the target critics that `subset` names."""
    member = _copy_member(member)
    batch = _float_batch(batch)
    every_row = np.ones(len(batch["obs"]))
    temperature = _temperature(member, fixed_temperature)

    next_action, next_log_prob = tanh_gaussian(member["actor"], batch["next_obs"], next_xi)
    target_critics = [member["target_critics"][c] for c in subset]
    y = soft_target(batch, target_critics, next_action, next_log_prob, temperature, gamma)

    critic_losses = _step_critics(member, batch, y, every_row, lr)
    actor_loss, log_prob = None, None
    if do_actor:
        actor_loss, log_prob = _step_actor_and_temperature(member, batch, xi, every_row, lr, actor_q, fixed_temperature)
    _step_targets(member, tau)

    info = {
        "y": y,
        "critic_loss": np.mean(critic_losses),
        "actor_loss": actor_loss,
        "log_prob": log_prob,
        "temperature": temperature,
    }
    return member, info


def sac_update(member, batch, next_xi, xi, *, lr, gamma, tau, actor_q="min", fixed_temperature=None):
    """One SAC gradient step: target, critics, actor, temperature, target critics.

    next_xi, xi: standard normal (B, A), for a' and for the actor's own actions.
    actor_q: the actor follows the "min" or the "mean" of the critics.
    fixed_temperature: used in place of exp(log_temperature), which then stays as it is.

    info: y (B,), critic_loss (mean over critics), actor_loss, log_prob (mean of log pi(a | s) over the
    actor's actions), temperature (the one this step used); all taken before the step that they drive.
    """
    subset = range(len(member["target_critics"]))
    return _single_update(
        member,
        batch,
        next_xi,
        xi,
        subset,
        lr=lr,
        gamma=gamma,
        tau=tau,
        actor_q=actor_q,
        fixed_temperature=fixed_temperature,
    )


def redq_update(member, batch, next_xi, xi, subset, *, lr, gamma, tau, do_actor=True):
    """One REDQ gradient step: SAC with the target's minimum over `subset` and the actor on the mean.

    subset: the distinct target critics of the target. do_actor: False leaves the actor, the temperature
    and their Adam states as they are (xi is then not read); critics and target critics always move.

    info: as `sac_update`, but actor_loss and log_prob are None without an actor step.
    """
    subset = [int(c) for c in subset]
    if not subset or len(set(subset)) != len(subset) or not all(0 <= c < len(member["critics"]) for c in subset):
        raise ValueError(f"subset {subset} is not made of distinct critics")
    return _single_update(
        member, batch, next_xi, xi, subset, lr=lr, gamma=gamma, tau=tau, actor_q="mean", do_actor=do_actor
    )


# ------------------------------------------------------------------------------------- SUNRISE


def backup_weight(members, next_obs, next_action, temperature_weight):
    """sigmoid(-T std) + 0.5 (B,), std over the N members of the least of their target critics."""
    values = [min_critic_value(member["target_critics"], next_obs, next_action) for member in members]
    std = np.std(values, axis=0)  # population
    return np.exp(-np.logaddexp(0.0, temperature_weight * std)) + 0.5


def sunrise_update(members, batch, next_xi, xi, masks, *, temperature_weight, lr, gamma, tau):
    """One SUNRISE gradient step: N SAC members on one batch, with bootstrap masks and weighted backups.

    next_xi, xi: standard normal (N, B, A). masks: (B, N) of 0 and 1; a row that a member's mask drops
    still counts in the mean's denominator B. Each member's next actions come from its own actor, and all
    members read the target critics as they were before this step.

    info: y (N arrays (B,)), weight (N arrays (B,), the backup's, without masks), critic_loss (mean over
    members and their critics, masked and weighted), and for each member (N,): actor_loss (masked),
    log_prob (mean over all rows, not masked), temperature (the one this step used).
    """
    members = [_copy_member(member) for member in members]
    batch = _float_batch(batch)
    rows, action_size = batch["action"].shape
    next_xi = _float_array("next_xi", next_xi, (len(members), rows, action_size))
    xi = _float_array("xi", xi, (len(members), rows, action_size))
    masks = _float_array("masks", masks, (rows, len(members)))
    temperatures = np.array([_temperature(member) for member in members])

    ys, weights = [], []
    for k, member in enumerate(members):
        next_action, next_log_prob = tanh_gaussian(member["actor"], batch["next_obs"], next_xi[k])
        ys.append(soft_target(batch, member["target_critics"], next_action, next_log_prob, temperatures[k], gamma))
        weights.append(backup_weight(members, batch["next_obs"], next_action, temperature_weight))

    critic_losses = []  # N lists of C
    actor_losses = np.zeros(len(members))
    log_probs = np.zeros(len(members))
    for k, member in enumerate(members):
        mask = masks[:, k]
        critic_losses.append(_step_critics(member, batch, ys[k], mask * weights[k], lr))
        actor_losses[k], log_probs[k] = _step_actor_and_temperature(member, batch, xi[k], mask, lr, actor_q="min")
        _step_targets(member, tau)

    info = {
        "y": ys,
        "weight": weights,
        "critic_loss": np.mean(critic_losses),
        "actor_loss": actor_losses,
        "log_prob": log_probs,
        "temperature": temperatures,
    }
    return members, info


def ucb_choice(actions, q, lam):
    """Which of the N candidate actions (N, A) has the greatest mean + lam * std of q over its N judges.

    q (N, N): row i is critic-member i, column j is action j. The std is the population's.
    """
    q = _float_array("q", q, (len(actions), len(actions)))
    return int(np.argmax(q.mean(axis=0) + lam * q.std(axis=0)))
