"""`espalier tune` makes tuned tables; `espalier table` shows, compares and checks them."""
