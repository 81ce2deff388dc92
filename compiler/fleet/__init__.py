"""Reports of many devices over many days, merged: rates, the promise, and which devices drift."""
