"""Launching jobs: which MPIs there are, which one a program wants (from its ELF files, as the dynamic loader would find
them), where Espalier's own libraries and workers lie, and the command line that puts them in front of the ranks.
"""
