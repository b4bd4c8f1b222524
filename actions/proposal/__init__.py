"""A proposal's life before and beside its run: offered, answered, edited, withdrawn, and folded from its journal."""
