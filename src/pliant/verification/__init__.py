"""What proves the program: methods against each other, published numbers, identities, balances, large bending."""
