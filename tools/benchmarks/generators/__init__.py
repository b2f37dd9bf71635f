"""What the generator draws: combinations of values, and cases to find a fault beside a naive generator."""
