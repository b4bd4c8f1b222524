"""Things that run out: the words for documents, contracts, trials, vouchers and consents."""

from __future__ import annotations

from typing import Literal, NamedTuple

from extractors.facts.phrases import Phrases, phrases

Category = Literal["document", "contract", "trial", "voucher", "consent", "return", "other"]

TRIAL = (
    r"(?:free )?trial(?: period)?|probe(?:zeitraum|monat|abo|phase|zeit)|testphase|testzeitraum",
    r"(?:période d['’])?essai(?: gratuit)?|(?:periodo de )?prueba(?: gratuita)?",
)
_PATTERNS: dict[Category, Phrases] = {
    "trial": phrases(*TRIAL),
    "consent": phrases(
        r"consent|bank (?:connection|access)|authori[sz]ation to access|zustimmung|kontozugriff|einwilligung",
        r"consentement",
        r"consentimiento|autorización de acceso",
    ),
    "return": phrases(
        r"(?:free )?returns? (?:period|window)|right (?:of|to) (?:return|withdrawal|withdraw)|free returns?",
        r"(?:may|can) (?:return|send back) (?:it|them|the \w+|your \w+)",
        r"rückgabe(?:frist|recht|zeitraum)|rücksende(?:frist|recht)|widerrufs(?:frist|recht)|kostenlose rücksendung",
        r"délai de (?:retour|rétractation)|droit de (?:retour|rétractation)|retours? gratuits?",
        r"plazo de (?:devolución|desistimiento)|derecho de (?:devolución|desistimiento)|devolución gratuita",
    ),
    "voucher": phrases(
        r"(?:gift )?voucher|gift (?:card|certificate)|store credit|(?:loyalty |bonus )?points|miles|\w*gutschein\w*",
        r"(?:bonus)?punkte|guthaben|bon (?:d['’]achat|cadeau)|chèque[- ]cadeau|(?:tarjeta|cheque) regalo|bono|vale",
    ),
    "document": phrases(
        r"passport|(?:national )?identity card|id card|driv(?:ing|er['’]s) licen[cs]e|licen[cs]e|visa",
        r"(?:parking |residence |work )?permit|certificate|certification|(?:health insurance|[\w-]+) card",
        r"rail ?card|vaccination",
        r"reisepass|\w*pass|\w*ausweis|führerschein|visum|aufenthaltstitel|bescheinigung|zertifikat|\w*karte",
        r"bahncard",
        r"hauptuntersuchung|plakette|impfung",
        r"passeport|carte (?:d['’]identité|vitale|bancaire|de séjour|grise|[\wéè-]+)|permis(?: de conduire)?",
        r"titre de séjour",
        r"certificat|attestation|pasaporte|dni|carn[eé]t?(?: de conducir)?|permiso(?: de (?:residencia|conducir))?",
        r"tarjeta(?: sanitaria| de [\wéíó-]+)?|documento(?: nacional)? de identidad|certificado|itv|abono transporte",
    ),
    "contract": phrases(
        r"[\w-]*(?: [\w-]+)? (?:contract|subscription|insurance|membership|policy)|contract|agreement",
        r"subscription|polic(?:y|ies)",
        r"insurance|membership|lease|tenancy|plan|domain(?: name)?|warranty|guarantee|hosting|tariff",
        r"fixed (?:rate|term)|term",
        r"\w*vertrags?|\w*abo(?:nnement)?s?|mitgliedschaft|\w*versicherung|tarif|zinsbindung|domain|garantie",
        r"laufzeit",
        r"contrat(?: d['’][\wéè]+(?: [\wéè]+)?)?|abonnement|forfait(?: mobile)?|assurance|police|bail|adhésion",
        r"domaine|engagement",
        r"contrato(?: de [\wéíó]+)?|suscripción|seguro|póliza|afiliación|alquiler|garantía|dominio|abono|permanencia",
    ),
}  # fmt: skip


class Perishable(NamedTuple):
    category: Category
    name: str


def named(text: str, *, before: int | None = None) -> Perishable | None:
    """The most telling of the words (the longest), as it is written; those before ``before`` first."""
    if before is not None and (found := named(text[:before])):
        return found
    found_all = [
        Perishable(category, text[match.start() : match.end()].strip()[:120])
        for category, pattern in _PATTERNS.items()
        for match in pattern.finditer(text)
    ]
    return max(found_all, key=lambda perishable: len(perishable.name), default=None)
