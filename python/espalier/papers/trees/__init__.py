"""Subramoni et al.: trees that follow the network."""
