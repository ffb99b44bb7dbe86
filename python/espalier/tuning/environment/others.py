"""What other programs do meanwhile: where ranks share processors, one busy program makes calls ten times as long."""

from __future__ import annotations

# How long a tuning waits, in all, for others to let go of the processors; of a short one no more than this share.
_PATIENCE_S, _MOST_OF_BUDGET = 60.0, 0.2


class Others:
    """How many measurements others have disturbed, and how long the next may wait for them."""

    def __init__(self, budget_s: float = 0.0) -> None:
        """`budget_s`: how long the tuning may take."""
        self.measured = 0
        self.disturbed = 0  # of these, that count although others were busy
        self.most = 0.0  # processors that they kept busy then
        self.patience_s = min(_PATIENCE_S, _MOST_OF_BUDGET * budget_s)

    def note(self, others: float, is_disturbed: bool) -> None:
        """How many processors others kept busy in a measurement that counts, and whether that was too much."""
        self.measured += 1
        if is_disturbed:
            self.disturbed += 1
            self.most = max(self.most, others)

    def __str__(self) -> str:
        """In words; nothing where others left the processors alone."""
        if not self.disturbed:
            return ""
        return (
            f"other programs kept up to {self.most:.2f} processors busy during {self.disturbed} of {self.measured} "
            "measurements"
        )
