"""What a monitor costs: latency beside the model, time in C, memory, and budgets on them."""
