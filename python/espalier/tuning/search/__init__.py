"""The search for what is fastest on one problem: races between arms, duels with native, decisions with all that is
known of them, and the run that measures while there is time and writes each decision down at once.
"""
