"""Run directories and agents in, numbers out. Nothing here trains."""
