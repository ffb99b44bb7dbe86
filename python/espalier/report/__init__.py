"""Report pages: one HTML file each, with nothing outside it."""
