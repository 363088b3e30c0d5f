"""Search for an algorithm's settings: Optuna proposes and prunes, trials are lanes of programs."""
