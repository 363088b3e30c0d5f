"""Settings for all tests: strict shapes. JAX's cache of compiled programs is not used: on a CPU, jaxlib 0.10.2 crashed
now and then while reading it back."""

import jax

jax.config.update("jax_numpy_rank_promotion", "raise")
