"""What every other folder may use and what uses none of them: errors with their remedies, settings, byte counts as
people write them, files that users name, what this machine allows, the compiled core, and the one way to print.
"""
