"""Where a tuning job runs: its shape, the costs of messages and copies as the machine's curves show them, at which
distances a host puts the processors, and what other programs do meanwhile.
"""
