"""Qian, Rashti and Afsahi: groups of masters and their connections."""
