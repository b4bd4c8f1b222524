"""Promises: the sender will send, deliver, answer, pay back or do something, often by a day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from extractors.facts import guards, numbers
from extractors.facts.anchor import inside
from extractors.facts.clause import Clause
from extractors.facts.dates import DateMention
from extractors.facts.passage import Passage
from extractors.facts.phrases import Phrases, phrases
from schemas.fact import PromiseFact

_I = r"(?:(?:i|we)(?:['’]ll| will| shall| am going to| are going to| promise to)|let (?:me|us))(?: \w+){0,2}"
_YOU_GET = r"you(?:['’]ll| will| should) (?:\w+ )?(?:receive|hear)"
_ICH = r"(?:(?:ich|wir)(?: [\w,]+){0,3}|(?:werden?|sende|schicke)(?: wir| ich)?)"
_SIE_BEKOMMEN = r"(?:(?:sie|du|ihr) (?:erh[aä]l\w+|bekomm\w+|hör\w+)|(?:erh[aä]l\w+|bekomm\w+|hör\w+) (?:sie|du|ihr))"
_REFUND = r"refund\w*|pay (?:\w+ )?back|money back|erstatt\w*|zurück(?:zahl|überweis)\w*|rembours\w*|reembols\w*"

_WHAT: dict[str, Phrases] = {
    "deliver": phrases(
        r"(?:(?:estimated|expected) )?(?:delivery|arrival)(?: date)?(?: is)?(?: expected)?(?: on| by|:)?",
        r"(?:will|should|is (?:due|expected|scheduled) to)(?: \w+)? (?:arrive|be delivered|reach you|be with you)",
        r"(?:voraussichtliche )?(?:zustellung|lieferung|liefertermin|zustelltermin)(?: am| bis|:)?",
        r"kommt(?: [\w.,]+){0,8} (?:an|zu ihnen)|(?:wird|werden)(?: [\w.,]+){0,8} (?:zugestellt|geliefert|eintreffen)",
        r"(?:arrivera|parviendra|sera (?:livrée?|remise?))|livraison (?:est )?(?:prévue|estimée)",
        r"(?:llegará|será entregad[oa]|se entregará|recibirá su (?:paquete|pedido))|entrega (?:prevista|estimada)",
    ),
    "refund": phrases(
        rf"(?:{_I}|{_YOU_GET}|will be|is being)(?: [\w']+){{0,6}} (?:{_REFUND})",
        rf"(?:{_ICH}|wird|werden|{_SIE_BEKOMMEN})(?: [\w.,]+){{0,12}} (?:{_REFUND}|(?:geld|betrag|summe)(?: "
        rf"[\w.,]+){{0,8}} zurück)",
        r"(?:vous|te|nous vous) (?:rembours\w+)|sera remboursée?|(?:le|te) (?:reembols\w+)|será reembolsad[oa]",
    ),
    "answer": phrases(
        rf"{_I} (?:get back to|come back to|answer|reply|respond|let you know|call)|{_YOU_GET} (?:from us|our "
        rf"(?:reply|answer|decision))",
        rf"(?:melden? (?:ich mich|wir uns)|{_ICH} (?:melden?|antworten?|rufe))|{_SIE_BEKOMMEN}(?: "
        rf"[\w.,]+){{0,9}} (?:von uns|antwort|bescheid|entscheidung)",
        r"(?:nous|je) (?:vous |te )?(?:(?:répondr|rappeller|recontacter)(?:ai|ons)|(?:tiendr|donner)(?:ai|ons) "
        r"(?:\w+ )?(?:au courant|une réponse))",
        r"vous (?:recevrez|aurez) (?:notre|une) (?:réponse|décision)|aurez de nos nouvelles",
        r"(?:le|te|les|os) (?:(?:responder|contestar|llamar)(?:é|emos)|daremos una respuesta|diré algo)|"
        r"recibirá (?:nuestra|una) respuesta|tendrá noticias nuestras",
    ),
    "send": phrases(
        rf"{_I} (?:send|forward|mail|email|e-mail|bring|give|return|pass|post|drop)|{_YOU_GET}",
        rf"(?:{_ICH} (?:schick|send|bring|geb|liefer|stell|reich|leit)\w*)|(?:schick|send|bring|geb|reich)e? "
        rf"(?:ich|wir)",
        rf"(?:{_ICH})(?: [\w.,]+){{0,12}} (?:schicken|senden|bringen|zukommen|zusenden|zuschicken|nachreichen)|"
        rf"{_SIE_BEKOMMEN}",
        r"(?:je |nous |j['’])(?:te |vous |t['’]|l['’]|le |la |les )*(?:(?:enverr|transmettr|apporter|rapporter|"
        r"ramèner|"
        r"donner|rendr)"
        r"(?:ai|ons)|envoie|envoyons|transmets|rapporte|rends|fer(?:ai|ons) parvenir)",
        r"vous recevrez",
        r"(?:te|le|les|os|se)(?: l[oa]s?)? (?:envío|enviamos|mando|mandamos|traigo|llevo|doy|damos)",
        r"(?:enviar|mandar|traer|llevar|dar|devolver|entregar|remitir)(?:é|emos)|recibirá",
    ),
}
"""In order: the first that a clause says is what is promised."""

_NOT_MEANT = phrases(
    r"would|could|should we|may|might|not|never|cannot|can['’]t|won['’]t|sample|voucher|newsletter|discount",
    r"würden?|könnten?|nicht|kein\w*|\w*gutschein|\w*rabatt",
    r"pourr\w+|ne|n['’]\w+|pas|bon d['’]achat|remise|podría\w*|no|vale|boletín|descuento",
)
"""Wished, denied, or advertised."""

_PARCEL = phrases(
    r"(?:parcel|package|shipment|consignment|sendung|paket|lieferung|colis|paquete|envío|claim|case|ticket|complaint"
    r"|schaden\w*|vorgang|reklamation|fall|dossier|sinistre|réclamation|reclamación|siniestro|caso|expediente)"
    r"(?:s?(?:-| )?(?:number|no|nr|nummer|numéro|n[°º]|número|núm)[.:]?)?[ "
    r":]{1,2}(?P<number>(?=[\w-]{0,30}\d)[\w-]{4,40})",
)


def find(passages: Sequence[Passage]) -> Iterator[PromiseFact]:
    """Each promise at most once, in the order of the text. Mail to many promises nothing to anybody."""
    if not passages or passages[0].context.bulk:
        return
    number = case_number(passages)
    for passage in passages:
        for clause in passage.clauses:
            what = _what(clause)
            if what is None:
                continue
            by = _by(passage, clause)
            yield PromiseFact.model_validate(
                {
                    "origin": "text",
                    "certainty": 0.85 if by else 0.5,
                    "span": passage.span(clause.start, clause.end, clause),
                    "what": what,
                    "by": by.day if by else None,
                    "number": number,
                }
            )


def case_number(passages: Sequence[Passage]) -> str | None:
    """Of a parcel or case that the texts name, as it is written; else of an order."""
    for passage in passages:
        if match := _PARCEL.search(passage.text):
            return passage.text[match.start("number") : match.end("number")].strip("-")
    return next((found.number[:80] for passage in passages for found in numbers.bookings(passage)), None)


def _what(clause: Clause) -> str | None:
    if clause.text.endswith("?"):
        return None
    for what, pattern in _WHAT.items():
        match = pattern.search(clause.text)
        if match is None:
            continue
        before = clause.text[: match.start()]
        if not guards.CONDITION.search(before) and not _NOT_MEANT.search(clause.text[: match.end()]):
            return what
    return None


def _by(passage: Passage, clause: Clause) -> DateMention | None:
    """The last day that the clause names, from the day of writing on."""
    coming = [
        date for date in inside(clause, passage.dates) if date.day >= passage.context.written_on and not date.weak
    ]
    return max(coming, key=lambda date: date.day, default=None)
