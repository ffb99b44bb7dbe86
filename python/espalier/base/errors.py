"""The one exception that users are meant to see."""


class UserError(Exception):
    """Something the user can put right: says what and where, and how.

    `message` names the thing and the place; `remedy` (may be empty) is what to do about it.
    The command prints both on stderr and ends with exit code 2.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
