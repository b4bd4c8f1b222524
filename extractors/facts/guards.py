"""Words that take a clause's meaning back: negations, conditions, and offers that only look like deadlines."""

from __future__ import annotations

from extractors.facts.phrases import phrases

NOTHING_TO_PAY = phrases(
    r"no (?:further )?(?:payment|amount|balance|fee|charge)s?(?: is| are)?(?: due| required| needed| owed)?",
    r"nothing (?:is )?(?:due|to pay|owed)|not (?:yet )?due|(?:do|does) not (?:have to|need to) pay|without charge",
    r"free of charge|(?:was|were|has been|have been|been|is|already|fully) paid(?: in full)?|paid in full",
    r"already (?:settled|received)",
    r"keine (?:weitere )?(?:zahlung|rechnung|gebühr\w*)|nichts (?:weiter )?zu (?:zahlen|tun)",
    r"nicht (?:fällig|zu zahlen)",
    r"bereits (?:bezahlt|beglichen|überwiesen|abgebucht|eingegangen|gezahlt)|(?:wurde|ist) (?:bezahlt|beglichen)",
    r"kostenlos|kostenfrei",
    r"aucun (?:paiement|montant|règlement)|rien à (?:payer|régler)|déjà (?:payée?|réglée?)|a été (?:payée?|réglée?)",
    r"ning[uú]n (?:pago|importe)|nada que pagar|ya (?:está |ha sido )?pagad[oa]|sin coste",
)
"""The clause says that nothing has to be paid (any more)."""

PROMOTION = phrases(
    r"(?:the |this |our )?(?:offer|sale|deal|promotion|promo|discount)s?(?: is| are)?(?: valid| ends?| expires?)?",
    r"save(?: up to)? (?:[€$£]?\s?\d+|money|big|now)",
    r"\d+ ?% (?:off|discount|rabatt|de (?:réduction|remise|descuento))",
    r"limited (?:seats|places|spots)|begrenzte plätze|places limitées|plazas limitadas|solange der vorrat",
    r"early[- ]birds?",
    r"réservez (?:vos vacances|avant|vite)|partez dès|buchen und sparen|ahorr(?:a|e)|reserve (?:sus vacaciones|antes)",
    r"frühbucher|premiers inscrits|madrugadores|last chance|while (?:stocks|supplies) last|black friday",
    r"cyber monday|flash sale|early bird|limited[- ]time",
    r"coupon",
    r"(?:shop|order|buy) now|order by|giveaway",
    r"(?:sonder|rabatt|aktions|herbst|sommer|winter|frühlings)?angebote?|rabatt\w*|aktion (?:gültig|endet|läuft)",
    r"sparen sie|spare jetzt|jetzt (?:sichern|bestellen|shoppen|kaufen)|schnäppchen",
    r"gutscheincode|gewinnspiel",
    r"promo(?:tion)?s?|soldes|(?:cette |l['’])?offre (?:est )?(?:valable|se termine|expire)|réduction|remise",
    r"code promo",
    r"(?:la |esta )?oferta(?: válida| termina| finaliza)?|descuentos?|rebajas",
)
"""An offer or a sale: its dates and amounts bind nobody."""

CONDITION = phrases(
    r"if|unless|in case|should you|whether|once|when|after",
    r"wenn|falls|sollten? (?:sie|du)|sofern|ob|nachdem|sobald",
    r"si|s['’]il|dès que|une fois|lorsque",
    r"cuando|en caso de",
)
"""What stands behind it has not happened."""

OVER = phrases(
    r"(?:deadline|closing date|period|time)\b.{0,40}\b(?:passed|has passed|ended|is over|expired)",
    r"we received more than",
    r"(?:frist|zeit)\b.{0,60}\b(?:abgelaufen|verstrichen|vorbei|endete)|(?:frist|schluss)\b.{0,30}\bwar",
    r"délai\b.{0,60}\b(?:a expiré|est passé|était)|plazo\b.{0,60}\b(?:terminó|venció|pasó|acabó)",
)
"""A deadline that the sender looks back on."""

NOT_OURS = phrases(
    r"(?:i|we|our team|they|he|she) (?:will|shall|are going to|hope|aim|expect|plan)|(?:i|we)['’]ll|arriv(?:es|ing|al)",
    r"delivered",
    r"(?:out of (?:the )?office|away|on (?:leave|holiday|vacation)|unavailable) (?:until|till|from|between)",
    r"(?:and|but|or) (?:will|shall) (?:answer|reply|respond|get back|be back|return|contact|read)",
    r"(?:abwesend|im urlaub|nicht (?:im (?:büro|haus|dienst)|erreichbar)|nicht da) bis",
    r"bis(?: \S+){1,5} (?:abwesend|im urlaub|nicht (?:im (?:büro|haus|dienst)|erreichbar)|nicht da)",
    r"(?:absente?|en congés?|indisponible) (?:jusqu|du)|(?:ausente|de vacaciones|fuera de la oficina) hasta",
    r"(?:will|to) (?:be )?(?:deliver(?:ed)?|arrive|ship(?:ped)?|refund(?:ed)?|reach you)|opens?|closed|ships?",
    r"shipping|delivery",
    r"wir (?:werden|melden|liefern|senden|kümmern|prüfen|erstatten)",
    r"(?:wird|werden) \w+ (?:geliefert|zugestellt|erstattet)",
    r"geschlossen|geöffnet|lieferung|versand",
    r"(?:ich|wir) (?:bringe|schicke|sende|gebe)n?|(?:bringe|schicke|sende|gebe)n? (?:ich|wir)",
    r"(?:je |nous |j['’])(?:\w+ |\w['’])?\w+r(?:ai|ons)|(?:te|le|les|os) \w+r(?:é|emos)",
    r"nous (?:allons|vous (?:enverrons|livrerons|répondrons))|sera (?:livrée?|expédiée?|remboursée?)|livraison",
    r"nos pondremos|será (?:entregad[oa]|enviad[oa]|reembolsad[oa])|le (?:enviaremos|responderemos)|envío",
)
"""The sender speaks of what others will do, or of opening hours: no duty of the reader."""
