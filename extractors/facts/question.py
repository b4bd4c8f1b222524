"""Questions: the sender asks the reader for an answer, in words that a person wrote to a person."""

from __future__ import annotations

import re
from collections.abc import Iterator

from extractors.facts.anchor import inside
from extractors.facts.clause import Clause
from extractors.facts.passage import Passage
from extractors.facts.phrases import phrases
from schemas.fact import QuestionFact

_ASKS = phrases(
    r"you|we|i|us|who|whom|which|when|where|how (?:many|much|about|do|long)",
    r"what (?:time|about|do|would|should|is|are|if)",
    r"any (?:news|updates?|chance|ideas?)|is (?:it|that|this) (?:ok|okay|possible|fine|all right)|shall|could|would",
    r"du|dir|dich|ihr|euch|wir|uns|ich|(?:können|könnten|würden|haben|sind|möchten|wären|werden) sie|ihnen|wer",
    r"wann|wo|wie",
    r"welche[rsn]?|passt (?:es|das)|ob|geht das|klappt das",
    r"tu|te|toi|vous|nous|on|je|qui|quand|où|combien|quel(?:le)?s?|lequel|laquelle|est-ce que",
    r"\w+-(?:vous|tu|on|nous)",
    r"tú|te|ti|os|usted(?:es)?|vosotros|nos|me|quién(?:es)?|cuándo|dónde|cuánt[oa]s?|cuál(?:es)?|qué",
    r"\w+(?:áis|éis|ías|íais)",
    r"pued(?:es?|en)|podrías?|tien(?:es?|en)|quier(?:es?|en)|vien(?:es?|en)|podéis",
)
"""Somebody is spoken to, or asked for something."""

_REQUEST = phrases(
    r"(?:please )?let (?:me|us) know|please (?:reply|respond|confirm|answer|get back|advise)|rsvp",
    r"look(?:ing)? forward to (?:your (?:reply|answer|response|feedback)|hearing)",
    r"(?:waiting|wait) for your (?:reply|answer)",
    r"gib (?:mir|uns) (?:bitte )?bescheid|sag (?:mir|uns)|melde dich|melden sie sich (?:bitte |"
    r"kurz )?(?:bei (?:uns|mir)|zurück)|(?:geben|sagen) sie (?:mir|uns)",
    r"bitte (?:um )?(?:antwort\w*|rückmeldung|bestätig\w*)",
    r"(?:warten?|bitten?) (?:auf|um) (?:ihre|deine) (?:antwort|rückmeldung)",
    r"merci de (?:me |nous )?(?:confirmer|répondre|dire|faire savoir)|tenez-moi au courant|dis-moi",
    r"dites-(?:moi|nous)",
    r"veuillez (?:confirmer|répondre)|attends? (?:ta|votre) réponse",
    r"confírm(?:a|e)(?:me|nos)|respónd(?:a|e)(?:me|nos)|d[ií]me|dígame|avísa(?:me|nos)|háganos saber",
    r"espero (?:tu|su) respuesta",
)
_RHETORICAL = phrases(
    r"(?:any|more|other|further)? ?questions?(?: about .{1,40}| \?|\?)|need help|want (?:more|to (?:save|know))",
    r"did you know",
    r"ready (?:to|for)|why (?:not|wait)|looking for|how are you|how['’]s it going|(?:having )?trouble",
    r"can['’]t (?:see|view|read)",
    r"not you|was (?:it|this|that) you|forgot(?:ten)? your|was this (?:helpful|you)|how was your|how did we do",
    r"curious",
    r"(?:noch |haben sie )?(?:noch )?fragen(?: zu\w* .{1,40})?|wussten sie|brauchen sie hilfe",
    r"wie geht(?:['’]s| es)|waren sie das",
    r"kennen sie schon|neugierig|probleme|bereit für|wie war",
    r"(?:une|des) questions?(?: sur .{1,40})?|besoin d['’]aide|saviez-vous|comment (?:ça va|allez-vous|vas-tu)",
    r"envie de|prêts? (?:à|pour)",
    r"(?:alguna )?(?:duda|pregunta)s?(?: sobre .{1,40})?|necesitas? ayuda|sabías|cómo est[áa]s?|qué tal",
    r"curiosidad|listos? para",
)
_GREETING = re.compile(
    r"^(?:hi|hello|dear|hey|hallo|liebe[rs]?|moin|guten (?:tag|morgen)|bonjour|salut|coucou|cher|chère|¡?hola|"
    r"estimad[oa]|"
    r"querid[oa])\s+([^\W\d_][\w'’-]+)\s*[,!:-]",
    re.IGNORECASE | re.MULTILINE,
)
_EVERYBODY = frozenset(
    [
        "all",
        "everyone",
        "team",
        "both",
        "folks",
        "there",
        "alle",
        "zusammen",
        "tous",
        "todos",
        "herr",
        "frau",
        "mr",
        "mrs",
        "ms",
    ]
)
_LONGEST = 600


def find(passage: Passage) -> Iterator[QuestionFact]:
    """At most one, the first. Mails to many and from programs ask nobody."""
    context = passage.context
    if context.bulk or context.automatic:
        return
    for clause in passage.clauses:
        certainty = _certainty(clause)
        if certainty:
            day = next((date.day for date in inside(clause, passage.dates) if date.day >= context.written_on), None)
            yield QuestionFact(
                origin="text",
                certainty=0.4 if _names_another(passage) else certainty,
                span=passage.span(clause.start, clause.end, clause),
                by=day,
            )
            return


def _certainty(clause: Clause) -> float:
    if len(clause.text) > _LONGEST or _RHETORICAL.search(clause.text):
        return 0
    if clause.text.rstrip("\"')”»").endswith("?"):
        return 0.9 if _ASKS.search(clause.text) else 0
    return 0.8 if _REQUEST.search(clause.text) else 0


def _names_another(passage: Passage) -> bool:
    """ "Hi Tom, ..." to somebody who is not called Tom."""
    match = _GREETING.search(passage.text[:200])
    if match is None or not passage.context.owners:
        return False
    called = match[1].lower()
    return called not in _EVERYBODY and not any(called in owner.lower() for owner in passage.context.owners)
