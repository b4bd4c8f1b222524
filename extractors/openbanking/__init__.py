"""What the connectors for European open banking share: accounts, reads within the banks' limits, and their pages."""
