"""What goes wrong because of something the user can mend."""


class UserError(ValueError):
    """Shown by the command as one line on standard error, with exit code 2 and no traceback."""
