"""The program that monitors lower to: its ops, what each means, and from real to integer."""
