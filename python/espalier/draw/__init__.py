"""All that becomes a picture or a page: SVG, self-contained HTML, a figure's diagrams, and pictures of text. Drawings
take what other folders found; of those only the topology service draws, since it shows its network.
"""
