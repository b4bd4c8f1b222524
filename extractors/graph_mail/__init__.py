"""Mail of a Microsoft account (Outlook, Microsoft 365), by Microsoft Graph."""

from extractors.graph_mail.connector import GraphMail

connector = GraphMail()

__all__ = ["GraphMail", "connector"]
