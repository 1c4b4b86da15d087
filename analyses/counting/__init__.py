"""What a plan is made of: metrics and their states, exact sums, bootstrap replicates, outcomes, and what they tell."""
