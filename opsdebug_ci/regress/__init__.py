"""What times say about a change: effects, verdicts, history, floors. Pure; numpy and mpmath only."""
