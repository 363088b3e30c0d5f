"""Count the floating-point operations of the matrix products of one update.

A product of (batch, in) with (in, out) has 2·batch·in·out. The backward pass has one such product for the gradient of
the weights and one for that of the inputs. The first layer needs the second only where the input is an action.
"""

from itertools import pairwise


def forward(sizes: tuple[int, ...], batch: int) -> int:
    return sum(2 * batch * i * o for i, o in pairwise(sizes))


def backward_weights(sizes: tuple[int, ...], batch: int) -> int:
    """Count the gradients of all weights, and those of activations down to the first hidden layer."""
    return forward(sizes, batch) + forward(sizes[1:], batch)


def td3(obs: int, action: int, hidden: tuple[int, ...], batch: int, critics: int = 2, delay: int = 2) -> float:
    actor, critic = (obs, *hidden, action), (obs + action, *hidden, 1)
    target = forward(actor, batch) + critics * forward(critic, batch)
    fit = critics * (forward(critic, batch) + backward_weights(critic, batch))
    improve = forward(actor, batch) + backward_weights(actor, batch) + 2 * forward(critic, batch)
    return target + fit + improve / delay


def teen(obs: int, action: int, hidden: tuple[int, ...], batch: int, n: int = 10, m: int = 2, delay: int = 2) -> float:
    actor, critic, judge = (obs, *hidden, action), (obs + action, *hidden, 1), (obs + action, *hidden, n)
    target = n * forward(actor, batch) + m * n * forward(critic, batch)
    fit = n * (forward(critic, batch) + backward_weights(critic, batch))
    discriminate = forward(judge, batch) + backward_weights(judge, batch)
    improve = n * (
        forward(actor, batch) + backward_weights(actor, batch) + 2 * forward(critic, batch) + 2 * forward(judge, batch)
    )
    return target + fit + discriminate + improve / delay
