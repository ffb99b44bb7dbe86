"""Plans on simulated networks: what is asked of espalier-simulator, what it answers, and how it is drawn."""
