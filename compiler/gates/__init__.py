"""Gates of a pipeline: what a bundle must be worth, by itself and against an earlier one."""
