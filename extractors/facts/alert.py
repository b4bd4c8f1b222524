"""Security alerts: somebody signed in to an account of the reader, or changed its password or its addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from extractors.facts import guards
from extractors.facts.clause import Clause
from extractors.facts.passage import Passage
from extractors.facts.phrases import Phrases, phrases
from schemas.fact import AlertFact

_ACCOUNT_EN = r"(?:e-?mail address|phone number|mobile number|recovery (?:e-?mail|phone|address)|two-factor \w+|2fa)"
_ACCOUNT_DE = r"(?:e-mail-adresse|telefonnummer|handynummer|wiederherstellungs\w+|zwei-faktor-\w+)"
_ACCOUNT_FR = r"(?:adresse (?:e-?mail|électronique)|numéro de (?:téléphone|mobile)|double authentification)"
_ACCOUNT_ES = r"(?:correo electrónico|dirección de correo|número de (?:teléfono|móvil)|verificación en dos pasos)"
_WHAT: dict[str, Phrases] = {
    "password": phrases(
        r"password(?: [\w'’-]+){0,8} (?:was|has been|is now|has just been) (?:\w+ )?(?:changed|reset|updated)",
        r"(?:passwort|kennwort)(?: [\w.'’-]+){0,9} (?:wurde|ist)(?: [\w.-]+){0,6} (?:geändert|zurückgesetzt)",
        r"mot de passe(?: [\w'’-]+){0,8} (?:a été|vient d['’]être) (?:\w+ )?(?:modifié|changé|réinitialisé)",
        r"(?:cambiado|restablecido|modificado) (?:su|tu|la) contraseña",
        r"contraseña(?: [\w'’-]+){0,8} (?:se cambió|se ha cambiado|ha sido (?:cambiada|restablecida|modificada))",
    ),
    "contact": phrases(
        rf"{_ACCOUNT_EN}(?: [\w'’-]+){{0,8}} (?:was|has been) (?:\w+ )?(?:changed|updated|removed|added|turned off)",
        rf"{_ACCOUNT_DE}(?: [\w.'’-]+){{0,9}} (?:wurde|ist)(?: [\w.-]+){{0,6}} (?:geändert|entfernt|hinzugefügt|"
        rf"abgeschaltet)",
        rf"{_ACCOUNT_FR}(?: [\w'’-]+){{0,8}} (?:a été) (?:\w+ )?(?:modifiée?|changée?|supprimée?|ajoutée?|"
        rf"désactivée?)",
        rf"{_ACCOUNT_ES}(?: [\w'’-]+){{0,8}} (?:se ha|ha sido) (?:cambiad|modificad|eliminad|añadid|desactivad)[oa]",
    ),
    "sign_in": phrases(
        r"(?:new|unusual|suspicious|unrecogni[sz]ed) (?:sign-?in|log-?in|device)",
        r"(?:signed|logged) in (?:to|on)(?: [\w'’-]+){0,6} from (?:a|an) (?:new|unknown|unrecogni[sz]ed)",
        r"(?:neue|ungewöhnliche|verdächtige) (?:anmeldung|einloggen)",
        r"(?:neues|unbekanntes) gerät(?: [\w.'’-]+){0,9} (?:angemeldet|eingeloggt)",
        r"(?:nouvelle|inhabituelle) connexion|connexion (?:inhabituelle|suspecte)",
        r"(?:nouvel|nouveau) (?:appareil|terminal)(?: [\w'’-]+){0,4} connecté",
        r"(?:nuevo|inusual) inicio de sesión|inicio de sesión (?:nuevo|inusual|sospechoso)",
        r"dispositivo (?:nuevo|desconocido)(?: [\w'’-]+){0,4} (?:entró|accedió|conect\w+)",
    ),
}
"""In order: of what one mail says the gravest counts."""

_ADVICE = phrases(
    r"how to|tips|never|always|protect|we will (?:inform|notify|tell)|so schützen|tipps|niemals|immer|"
    r"informieren wir",
    r"comment|conseils|jamais|toujours|nous vous (?:informerons|préviendrons)|cómo|consejos|nunca|siempre|le "
    r"avisaremos",
)
"""Advice about such things, not word of one."""


def find(passages: Sequence[Passage]) -> Iterator[AlertFact]:
    """At most one. Mail to many is advice."""
    if not passages or passages[0].context.bulk:
        return
    said = [(passage, clause) for passage in passages for clause in passage.clauses]
    for what, pattern in _WHAT.items():
        for passage, clause in said:
            if _says(clause, pattern):
                span = passage.span(clause.start, clause.end, clause)
                yield AlertFact.model_validate({"origin": "text", "certainty": 0.85, "span": span, "what": what})
                return


def _says(clause: Clause, pattern: Phrases) -> bool:
    match = pattern.search(clause.text)
    if match is None or clause.text.endswith("?") or _ADVICE.search(clause.text):
        return False
    return not guards.CONDITION.search(clause.text[: match.start()])
