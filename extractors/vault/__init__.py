"""The vault: one SQLite file that holds every account's secrets, sealed (docs/decisions/0012)."""

from extractors.vault.keys import GivenKeys, KeyFile, KeyringKeys, KeySource
from extractors.vault.lock import account_lock
from extractors.vault.secrets import Secrets
from extractors.vault.store import Vault

__all__ = ["GivenKeys", "KeyFile", "KeySource", "KeyringKeys", "Secrets", "Vault", "account_lock"]
