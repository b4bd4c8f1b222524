"""Being let in by OAuth 2: consent by browser or device code, tokens that are renewed exactly once, revocation.

authlib gives the words of the protocol, ``extractors.http.Http`` carries them (docs/decisions/0012). Nothing is
imported here: most commands need none of it.
"""
