"""What may be done: the policy and its rules, standing permissions, earned autonomy, and the audit of all of it."""
