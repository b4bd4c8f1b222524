"""How tools reach the accounts that a person granted more than reading: the adapters behind the ports of the tools."""
