"""What ``import edgemon`` offers: compiling, and bundles as objects."""
