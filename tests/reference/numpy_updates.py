"""One gradient step of TD3 and of TEEN in plain NumPy (float64, back-propagation by hand).

A test oracle, written from the method's description alone: slow, explicit, free of autodiff.

Shapes: B rows of a batch, S observation size, A action size, N members, C critics per member.
An MLP is a list of layers (W, b), W (in, out) and b (out,): ReLU between layers, the last linear.
Actor: tanh(MLP(obs)). Critic: MLP([obs, action]) -> 1. Discriminator: MLP([obs, action]) -> N.
No function changes its arguments.
"""

import numpy as np

ADAM_BETA1 = 0.9
ADAM_BETA2 = 0.999
ADAM_EPS = 1e-8


# ------------------------------------------------------------------------------------- inputs


def _copy_mlp(mlp):
    """The same layers as fresh float64 arrays."""
    return [(np.array(w, dtype=np.float64), np.array(b, dtype=np.float64)) for w, b in mlp]


def _copy_opt(opt):
    return {"count": int(opt["count"]), "mu": _copy_mlp(opt["mu"]), "nu": _copy_mlp(opt["nu"])}


def _copy_agent(agent):
    return {
        "actor": _copy_mlp(agent["actor"]),
        "target_actor": _copy_mlp(agent["target_actor"]),
        "critics": [_copy_mlp(critic) for critic in agent["critics"]],
        "target_critics": [_copy_mlp(critic) for critic in agent["target_critics"]],
        "actor_opt": _copy_opt(agent["actor_opt"]),
        "critic_opts": [_copy_opt(opt) for opt in agent["critic_opts"]],
    }


def _float_batch(batch):
    """The batch without z, in float64; refuses shapes that would broadcast silently."""
    keys = ("obs", "action", "reward", "next_obs", "terminated")
    out = {key: np.array(batch[key], dtype=np.float64) for key in keys}
    rows = out["obs"].shape[0]
    for key, array in out.items():
        ndim = 1 if key in ("reward", "terminated") else 2
        if array.ndim != ndim or array.shape[0] != rows:
            raise ValueError(f"batch[{key!r}] has shape {array.shape}, expected {rows} rows")
    return out


# --------------------------------------------------------------------------------------- MLPs


def mlp_forward(mlp, x):
    """Output (B, out) and the input of every layer, which `mlp_backward` needs."""
    layer_inputs = []
    h = x  # (B, in)
    for index, (w, b) in enumerate(mlp):
        layer_inputs.append(h)
        h = h @ w + b
        if index < len(mlp) - 1:
            h = np.maximum(h, 0.0)
    return h, layer_inputs


def mlp_backward(mlp, layer_inputs, grad_output):
    """Gradients of the parameters (MLP-like) and of the input (B, in), given that of the output."""
    grads = [None] * len(mlp)
    grad = grad_output  # (B, out): with respect to what layer `index` gives before its ReLU
    for index in reversed(range(len(mlp))):
        w, _ = mlp[index]
        h = layer_inputs[index]  # (B, in)
        grads[index] = (h.T @ grad, grad.sum(axis=0))
        grad = grad @ w.T  # (B, in)
        if index > 0:
            grad = grad * (h > 0.0)  # h is the ReLU's output: its slope is 1 where h > 0, else 0
    return grads, grad


def actor_action(actor, obs):
    """pi(s): (B, A) in [-1, 1]."""
    return np.tanh(mlp_forward(actor, obs)[0])


def critic_value(critic, obs, action):
    """Q(s, a): (B,)."""
    return mlp_forward(critic, np.concatenate([obs, action], axis=1))[0][:, 0]


def critic_action_gradient(critic, obs, action):
    """Q(s, a) (B,) and dQ/da (B, A), row by row."""
    output, cache = mlp_forward(critic, np.concatenate([obs, action], axis=1))
    _, grad_input = mlp_backward(critic, cache, np.ones_like(output))
    return output[:, 0], grad_input[:, obs.shape[1] :]


def log_softmax(logits):
    """(B, N) -> (B, N)."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


# ------------------------------------------------------------------------------ Adam, Polyak


def adam_init(mlp):
    def zeros():
        return [(np.zeros(np.shape(w), dtype=np.float64), np.zeros(np.shape(b), dtype=np.float64)) for w, b in mlp]

    return {"count": 0, "mu": zeros(), "nu": zeros()}


def adam_step(mlp, grads, opt, lr):
    """One step of Adam as in PyTorch: bias corrected, epsilon outside the square root."""
    count = int(opt["count"]) + 1
    new_mlp, new_mu, new_nu = [], [], []
    layers = zip(_copy_mlp(mlp), grads, _copy_mlp(opt["mu"]), _copy_mlp(opt["nu"]), strict=True)
    for params, layer_grads, mus, nus in layers:
        layer, layer_mu, layer_nu = [], [], []
        for p, g, old_m, old_v in zip(params, layer_grads, mus, nus, strict=True):
            g64 = np.asarray(g, dtype=np.float64)
            m = ADAM_BETA1 * old_m + (1.0 - ADAM_BETA1) * g64
            v = ADAM_BETA2 * old_v + (1.0 - ADAM_BETA2) * g64**2
            m_hat = m / (1.0 - ADAM_BETA1**count)
            v_hat = v / (1.0 - ADAM_BETA2**count)
            layer.append(p - lr * m_hat / (np.sqrt(v_hat) + ADAM_EPS))
            layer_mu.append(m)
            layer_nu.append(v)
        new_mlp.append(tuple(layer))
        new_mu.append(tuple(layer_mu))
        new_nu.append(tuple(layer_nu))
    return new_mlp, {"count": count, "mu": new_mu, "nu": new_nu}


def polyak(target, online, tau):
    """(1 - tau) * target + tau * online."""
    return [
        ((1.0 - tau) * tw + tau * w, (1.0 - tau) * tb + tau * b)
        for (tw, tb), (w, b) in zip(target, online, strict=True)
    ]


# ------------------------------------------------------------------- losses and their gradients


def critic_loss_and_grads(critic, obs, action, y):
    """mean_b (y - Q(s, a))^2 and its gradient in the critic's parameters."""
    output, cache = mlp_forward(critic, np.concatenate([obs, action], axis=1))  # (B, 1)
    error = output[:, 0] - y  # (B,)
    grad_output = (2.0 * error / len(y))[:, None]  # (B, 1)
    grads, _ = mlp_backward(critic, cache, grad_output)
    return np.mean(error**2), grads


def discriminator_loss_and_grads(discriminator, obs, action, z, use_row):
    """Cross-entropy of z given (s, a), the mean over the rows `use_row` (B,) picks.

    Loss and gradient are 0 where it picks none.
    """
    logits, cache = mlp_forward(discriminator, np.concatenate([obs, action], axis=1))  # (B, N)
    log_q = log_softmax(logits)
    rows = np.flatnonzero(use_row)
    grad_logits = np.zeros_like(logits)
    loss = 0.0
    if len(rows) > 0:
        labels = z[rows]
        loss = -np.mean(log_q[rows, labels])
        grad_logits[rows] = np.exp(log_q[rows])  # softmax - one-hot(z)
        grad_logits[rows, labels] -= 1.0
        grad_logits /= len(rows)
    grads, _ = mlp_backward(discriminator, cache, grad_logits)
    return loss, grads


def clipped_log_q_action_gradient(discriminator, obs, action, member, epsilon):
    """log clip(q(member | s, a), eps, 1 - eps) (B,) and its gradient in a (B, A), row by row.

    The clip is hard: no gradient where q lies outside [eps, 1 - eps].
    """
    logits, cache = mlp_forward(discriminator, np.concatenate([obs, action], axis=1))  # (B, N)
    q = np.exp(log_softmax(logits))  # (B, N)
    q_member = q[:, member]  # (B,)
    value = np.log(np.clip(q_member, epsilon, 1.0 - epsilon))
    grad_logits = -q  # d log q_member / d logits = one-hot(member) - q
    grad_logits[:, member] += 1.0
    inside = (q_member >= epsilon) & (q_member <= 1.0 - epsilon)  # (B,)
    grad_logits *= inside[:, None]
    _, grad_input = mlp_backward(discriminator, cache, grad_logits)
    return value, grad_input[:, obs.shape[1] :]


def actor_loss_and_grads(actor, critics, obs, *, discriminator=None, member=None, weight=0.0, epsilon=None):
    """-mean_b Q(s, pi(s)) - weight * mean_b log clip(q(member | s, pi(s)), eps, 1 - eps).

    Q is the mean of `critics` (one critic: that one). The regulariser counts only with a
    `discriminator`; `weight` is alpha where this member is regularised, else 0.
    """
    pre_tanh, cache = mlp_forward(actor, obs)
    action = np.tanh(pre_tanh)  # (B, A)
    objective = np.zeros(len(obs))  # (B,), to be ascended
    grad_action = np.zeros_like(action)  # (B, A)
    for critic in critics:
        value, grad = critic_action_gradient(critic, obs, action)
        objective += value / len(critics)
        grad_action += grad / len(critics)
    if discriminator is not None:
        value, grad = clipped_log_q_action_gradient(discriminator, obs, action, member, epsilon)
        objective += weight * value
        grad_action += weight * grad
    grad_pre_tanh = -grad_action * (1.0 - action**2) / len(obs)
    grads, _ = mlp_backward(actor, cache, grad_pre_tanh)
    return -np.mean(objective), grads


# ------------------------------------------------------------------------- pieces of one step


def smoothed_next_action(actor, next_obs, noise, smoothing, smoothing_clip):
    """clip(pi(s') + clip(smoothing * noise, +-smoothing_clip), +-1): (B, A)."""
    action = actor_action(actor, next_obs)
    noise = np.asarray(noise, dtype=np.float64)
    if noise.shape != action.shape:
        raise ValueError(f"smoothing noise has shape {noise.shape}, expected {action.shape}")
    offset = np.clip(smoothing * noise, -smoothing_clip, smoothing_clip)
    return np.clip(action + offset, -1.0, 1.0)


def min_critic_value(critics, obs, action):
    """min_c Q_c(s, a): (B,)."""
    return np.min([critic_value(critic, obs, action) for critic in critics], axis=0)


def bellman_target(batch, next_value, gamma):
    """r + gamma * (1 - terminated) * next_value: (B,)."""
    return batch["reward"] + gamma * (1.0 - batch["terminated"]) * next_value


def _step_critics(agent, batch, y, lr):
    """Every critic of the agent regresses on y with its own Adam; changes `agent` in place.

    Returns the C losses, taken before the step.
    """
    losses = []
    for c, critic in enumerate(agent["critics"]):
        loss, grads = critic_loss_and_grads(critic, batch["obs"], batch["action"], y)
        agent["critics"][c], agent["critic_opts"][c] = adam_step(critic, grads, agent["critic_opts"][c], lr)
        losses.append(loss)
    return losses


def _step_targets(agent, tau):
    """Target critics and target actor move towards the online networks; changes `agent`."""
    agent["target_critics"] = [
        polyak(target, online, tau) for target, online in zip(agent["target_critics"], agent["critics"], strict=True)
    ]
    agent["target_actor"] = polyak(agent["target_actor"], agent["actor"], tau)


# ---------------------------------------------------------------------------------------- TD3


def td3_update(state, batch, smoothing_noise, *, do_actor, lr, gamma, tau, smoothing, smoothing_clip):
    """One TD3 gradient step; `smoothing_noise` (B, A) is standard normal.

    info: y (B,), critic_loss (mean over critics), actor_loss (None without an actor step);
    each loss is taken before the step that it drives.
    """
    agent = _copy_agent(state)
    batch = _float_batch(batch)

    next_action = smoothed_next_action(
        agent["target_actor"], batch["next_obs"], smoothing_noise, smoothing, smoothing_clip
    )
    next_value = min_critic_value(agent["target_critics"], batch["next_obs"], next_action)
    y = bellman_target(batch, next_value, gamma)

    critic_losses = _step_critics(agent, batch, y, lr)

    actor_loss = None
    if do_actor:  # the actor follows the first, already updated critic
        actor_loss, grads = actor_loss_and_grads(agent["actor"], agent["critics"][:1], batch["obs"])
        agent["actor"], agent["actor_opt"] = adam_step(agent["actor"], grads, agent["actor_opt"], lr)
        _step_targets(agent, tau)

    return agent, {"y": y, "critic_loss": np.mean(critic_losses), "actor_loss": actor_loss}


# --------------------------------------------------------------------------------------- TEEN


def teen_target(members, batch, smoothing_noise, subset, *, gamma, smoothing, smoothing_clip, target_actors):
    """y = r + gamma (1 - terminated) min_{i in subset} mean_j Q'_i(s', a'_j): (B,).

    The mean runs over the next actions of all N members; `smoothing_noise` is (N, B, A). Where a
    member has several critics, Q'_i(s', a') is the least of its target critics at that (s', a').
    """
    actor_key = "target_actor" if target_actors else "actor"
    next_obs = batch["next_obs"]
    next_actions = [
        smoothed_next_action(member[actor_key], next_obs, noise, smoothing, smoothing_clip)
        for member, noise in zip(members, smoothing_noise, strict=True)
    ]
    mean_values = []  # for each i of the subset (B,)
    for i in subset:
        target_critics = members[i]["target_critics"]
        values = [min_critic_value(target_critics, next_obs, action) for action in next_actions]
        mean_values.append(np.mean(values, axis=0))
    return bellman_target(batch, np.min(mean_values, axis=0), gamma)


def teen_update(
    state,
    batch,
    smoothing_noise,
    subset,
    *,
    do_actor,
    regularised,
    alpha,
    epsilon,
    lr,
    gamma,
    tau,
    smoothing,
    smoothing_clip,
    actor_q="own",
    actors="all",
    target_actors=True,
    discriminator_rows=None,
    alpha_scale="absolute",
):
    """One TEEN gradient step: target, critics, discriminator, then (do_actor) actors, targets.

    smoothing_noise: standard normal (N, B, A). subset: the M distinct critics of the target.
    regularised: N weights in {0, 1}, which actors get the discriminator's term.
    actor_q: "own" (actor k follows Q_k) or "mean" (the mean of all members' first critics).
    actors: "all" or "selected-only" (actors not regularised stay, and so does their Adam state).
    target_actors: False takes the next actions from the online actors, still smoothed.
    discriminator_rows: optional booleans (B,); the discriminator uses only these rows with z >= 0.
    alpha_scale: "absolute", or "q": alpha times the mean over rows of |Q|, of the Q that the actor follows.

    info: y (B,), critic_loss (mean over members and their critics), discriminator_loss,
    actor_losses ((N,), of members that stay too, or None without an actor step); each loss is
    taken before the step that it drives.
    """
    if actor_q not in ("own", "mean"):
        raise ValueError(f"unknown actor_q {actor_q!r}")
    if actors not in ("all", "selected-only"):
        raise ValueError(f"unknown actors {actors!r}")
    members = [_copy_agent(member) for member in state["members"]]
    discriminator = _copy_mlp(state["discriminator"])
    discriminator_opt = _copy_opt(state["discriminator_opt"])
    subset = [int(i) for i in subset]
    if len(set(subset)) != len(subset) or not all(0 <= i < len(members) for i in subset):
        raise ValueError(f"subset {subset} is not made of distinct members")
    regularised = [float(weight) for weight in regularised]
    if len(regularised) != len(members):
        raise ValueError(f"{len(regularised)} regularised weights for {len(members)} members")
    z = np.array(batch["z"], dtype=np.int64)  # (B,)
    batch = _float_batch(batch)
    if z.shape != batch["reward"].shape:
        raise ValueError(f"batch['z'] has shape {z.shape}, expected {batch['reward'].shape}")

    y = teen_target(
        members,
        batch,
        smoothing_noise,
        subset,
        gamma=gamma,
        smoothing=smoothing,
        smoothing_clip=smoothing_clip,
        target_actors=target_actors,
    )

    critic_losses = [_step_critics(member, batch, y, lr) for member in members]  # N lists of C

    use_row = z >= 0
    if discriminator_rows is not None:
        discriminator_rows = np.asarray(discriminator_rows, dtype=bool)
        if discriminator_rows.shape != z.shape:
            raise ValueError(f"discriminator_rows has shape {discriminator_rows.shape}")
        use_row = use_row & discriminator_rows
    discriminator_loss, grads = discriminator_loss_and_grads(discriminator, batch["obs"], batch["action"], z, use_row)
    discriminator, discriminator_opt = adam_step(discriminator, grads, discriminator_opt, lr)

    actor_losses = None
    if do_actor:  # with the updated critics and the updated discriminator
        first_critics = [member["critics"][0] for member in members]
        actor_losses = np.zeros(len(members))
        for k, member in enumerate(members):
            followed = [first_critics[k]] if actor_q == "own" else first_critics
            weight = regularised[k] * alpha
            if alpha_scale == "q":
                action = actor_action(member["actor"], batch["obs"])
                q = np.mean([critic_value(critic, batch["obs"], action) for critic in followed], axis=0)  # (B,)
                weight *= np.mean(np.abs(q))
            actor_losses[k], grads = actor_loss_and_grads(
                member["actor"],
                followed,
                batch["obs"],
                discriminator=discriminator,
                member=k,
                weight=weight,
                epsilon=epsilon,
            )
            if actors == "all" or regularised[k] != 0.0:
                member["actor"], member["actor_opt"] = adam_step(member["actor"], grads, member["actor_opt"], lr)
        for member in members:
            _step_targets(member, tau)

    new_state = {
        "members": members,
        "discriminator": discriminator,
        "discriminator_opt": discriminator_opt,
    }
    info = {
        "y": y,
        "critic_loss": np.mean(critic_losses),
        "discriminator_loss": discriminator_loss,
        "actor_losses": actor_losses,
    }
    return new_state, info
