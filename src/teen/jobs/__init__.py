"""Many jobs: what a sweep, a tuning study or the paper trains, one program after the other here, or side by side on a
cluster. Training itself knows nothing of this room."""
