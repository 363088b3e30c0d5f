"""The paper's experiments again: which runs each needs, what is there, and its tables and figures beside ours."""
