"""What an explanation test is, the tests by name, and what all of them give: means, intervals and verdicts."""
