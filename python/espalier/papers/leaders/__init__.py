"""Goglin and Moreaud: leaders near the network card, in a model of their cluster."""
