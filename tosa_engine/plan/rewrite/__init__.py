"""What a plan makes of operators before it places them: folded, tabulated and fused."""
