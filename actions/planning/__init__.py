"""From a trigger or a goal to a checked plan: playbooks, and a model that is asked but never trusted."""
