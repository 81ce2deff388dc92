"""How near estimates of accuracy come to the truth, on rows that are shifted in known ways."""
