"""How well scores and alarms tell wrong answers from right ones, with intervals."""
