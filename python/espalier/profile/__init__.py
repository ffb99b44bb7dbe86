"""What a program's collectives took: reads what ranks have written, sums it up, and says it in two sentences."""
