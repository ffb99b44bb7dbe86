"""What keeps a program from being served well on this machine."""
