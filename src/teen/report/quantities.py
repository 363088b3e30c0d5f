"""Describe each quantity of diagnostics.csv in a line; docs/diagnostics.md says more."""

_BIAS = {
    "states": "states behind it",
    "value_mean": "mean Q",
    "return_mean": "mean return that followed, G",
    "raw_mean": "Q − G, mean over states",
    "raw_std": "Q − G, std over states",
    "relative_mean": "(Q − G) / max(|G|, 10), mean over states",
    "relative_std": "(Q − G) / max(|G|, 10), std over states",
    "normalised_mean": "(Q − G) / |mean G|, mean over states",
    "normalised_std": "(Q − G) / |mean G|, std over states",
}

MEANING = {
    **{f"bias_{name}": f"estimation bias: {text}" for name, text in _BIAS.items()},
    **{f"bias_mixture_{name}": f"with a member drawn in every step: {text}" for name, text in _BIAS.items()},
    "entropy_all": "H(ρ) of visited states and actions, nats",
    "entropy_members_mean": "H(ρ given z): the same of one member, mean of all",
    "kl_members": "E KL(ρ(· given z) ‖ ρ): what differences between members add",
    "kl_members_any_episode": "the same, biased the other way",
    "entropy_particle": "mean log(1 + distance to the 3rd neighbour)",
    "entropy_ties": "share of distances below 1e-6: above 0 the entropies are not to be trusted",
    "discriminator_bound": "log N + E log q(z given s, a): the discriminator's lower bound of the KL",
    "discriminator_accuracy": "share of pairs whose member is guessed right",
    "action_distance": "mean distance of two members' actions in the same state",
    "return_mean_action": "return of the mean of the members' actions",
    "return_random_member": "return of a member drawn for each episode",
    "return_members_mean": "return of the members, mean of all",
    "return_best_member": "return of the best member",
}
