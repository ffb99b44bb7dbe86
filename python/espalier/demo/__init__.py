"""The main job of `make demo`: unmodified programs, native and with Espalier, side by side."""
