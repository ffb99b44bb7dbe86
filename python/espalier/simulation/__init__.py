"""Plans on simulated networks: what is asked of espalier-simulator and of the library executed on simulated ranks, and
what they answer.
"""
