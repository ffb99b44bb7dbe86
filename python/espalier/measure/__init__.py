"""Measurements of running jobs: native and Espalier in turns inside one job, what it costs to sit far from the network
card, how many connections a network likes, and the conversation with the job that times arms on request.
"""
