"""Acting: plans, policy, grants, the journal and its executor, tools."""
