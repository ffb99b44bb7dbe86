"""What people type: each command reads its options, asks the other folders, and prints what they answer, as text or as
JSON. Nothing is computed here that another folder could need, and no other folder imports from here.

A folder has the command `command`, or those that belong together, and what tells their results.
"""
