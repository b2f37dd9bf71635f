"""How narrow the known deviations are: recorded answers are corrupted, and each corruption must be reported."""
