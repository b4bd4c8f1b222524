"""The rules for dates: patterns, each with the reader that knows what day a match means.

A reader raises ValueError or OverflowError for a day that the calendar does not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from extractors.facts import calendar_words as words
from extractors.facts import date_readers as read
from extractors.facts.context import TextContext
from extractors.facts.date_readers import DateMention
from extractors.facts.order import DayOrder

Reader = Callable[[re.Match[str], TextContext, DayOrder], DateMention | None]
Rule = tuple[re.Pattern[str], Reader]

_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_ORDINAL = r"(?:st|nd|rd|th|er|º|\.)?"
_YEAR_END = r"(?!\d|[.,]\d|\s?(?:€|\$|£|EUR|USD|CHF|GBP|%))"
_YEAR = rf"(?:(?:19|20)\d\d|['’]\d\d){_YEAR_END}"
_LEAD = rf"(?:(?P<weekday>{words.WEEKDAY})\.?,?\s{{1,3}}(?:(?:the|den|dem|le|el)\s)?)?"
_FREE = r"(?<![\w/.,:+-])"
_COUNT = rf"(?P<count>{words.NUMBER})"
_WORKING = r"(?P<working>(?:working|business|bank)\s|(?:werk|arbeits|bank(?:arbeits)?)(?=tag))?"
_UNIT = (
    r"(?P<unit>days?|weeks?|months?|tagen?|tage|wochen?|monaten?|monate|monats|jours?|semaines?|mois|días?|dias?|"
    r"semanas?|meses|mes)"
    r"(?![^\W\d_])(?P<worked>\s(?:ouvr(?:és?|ables?)|hábiles|laborables))?"
)
_TODAY = (
    r"today|tonight|(?:day after )?tomorrow|heute|(?-i:morgen)|übermorgen|aujourd['’]hui|demain|après-demain|hoy|"
    r"pasado mañana|mañana"
)
_IN = (
    r"(?:within(?: the next| a period of)?|in(?: the next)?|the next|net|binnen|innerhalb(?: von| der nächsten)?|"
    r"in den nächsten|Zahlungsziel:?|sous|(?:dans|sous|avec) un délai(?: maximum| maximal)? d(?:e|(?=['’]))|"
    r"dans(?: les)?(?: prochaines?| prochains)?|d['’]ici|en(?: (?:un|el) plazo(?: máximo)? de)?|"
    r"dentro de(?:l plazo de)?|en los próximos|plazo de)"
)
_ON = (
    r"(?:by|until|till|before|on|next|this|bis(?: zum)?|am|nächsten|kommenden|diesen|vor|d['’]ici(?: à)?|avant|"
    r"au plus tard|ce|antes del?|hasta|el|este)\s"
    r"(?:(?:next|this|coming|close of business|COB|EOD|kommenden|nächsten|le|el|próximo|prochain)\s)?"
)
_END_OF = (
    r"(?:the )?end of (?:the |this )?(?:month|(?P<week>week)|(?P<year>year))|EOM|Ende (?:des|dieses) Monats|"
    r"Monatsende|"
    r"(?P<semaine>Ende der Woche|Wochenende|fin de la semaine)|(?P<annee>Jahresende|fin de l['’]année|fin de año)|"
    r"fin (?:du|de ce) mois|fin del? (?:este )?mes"
)
_ENDS = r"(?:(?:the )?end of|Ende|fin(?:ales)?(?: de)?)"
_NO_DAY = rf"(?!\w|[.,:/-]?\d|\.?\s?(?:€|%|EUR|Uhr|h\b|Tag|jours|d[ií]as|{words.MONTH}))"


def _rule(pattern: str, reader: Reader) -> Rule:
    return re.compile(pattern, re.IGNORECASE), reader


RULES: tuple[Rule, ...] = (
    # 2026-03-31, 2026/03/31
    _rule(
        rf"{_FREE}(?P<y>(?:19|20)\d\d)(?P<s>[-/.])(?P<m>\d{{1,2}})(?P=s)(?P<d>\d{{1,2}})(?![\d/-]|\.\d)",
        read.year_first,
    ),
    # 31.03.2026, 3/31/26
    _rule(
        rf"{_FREE}{_LEAD}(?P<a>\d{{1,2}})(?P<sep>[./-])\s?(?P<b>\d{{1,2}})(?P=sep)\s?"
        rf"(?P<y>(?:19|20)\d\d|\d\d)(?![\d/-]|[.,]\d)",
        read.numeric,
    ),
    # 31st of March 2026, 31. März, 1er avril, 31 de marzo de 2026
    _rule(
        rf"(?:{_FREE}|(?<=\d[-–/])|(?<=\d\.[-–/])){_LEAD}(?P<d>{_DAY}){_ORDINAL}[\s-]{{0,2}}(?:(?:of|de)\s)?"
        rf"(?P<month>{words.MONTH})\.?(?:[\s,-]{{1,3}}(?:del?\s)?(?P<y>{_YEAR}))?",
        read.day_month,
    ),
    # March 31st, 2026
    _rule(
        rf"{_FREE}{_LEAD}(?P<month>{words.MONTH})\.?\s{{1,2}}(?P<d>{_DAY})(?:st|nd|rd|th)?"
        rf"(?![\d:.]\d|\d|\s?(?:€|\$|%|EUR))(?:,?\s{{1,2}}(?P<y>{_YEAR}))?",
        read.month_day,
    ),
    # "5 and 6 June": the first of the two; the second is found by a rule above
    _rule(
        rf"{_FREE}(?P<d>{_DAY}){_ORDINAL}(?=\s?(?:-|–|/|and|to|bis|und|et|au|y|al)\s?{_DAY}{_ORDINAL}\s{{1,2}}"
        rf"(?:(?:of|de)\s)?(?P<month>{words.MONTH})\.?(?:,?\s{{1,3}}(?:del?\s)?(?P<y>{_YEAR}))?)",
        read.day_month,
    ),
    # 31.03.
    _rule(rf"{_FREE}{_LEAD}(?P<a>{_DAY})(?P<sep>\.)\s?(?P<b>0?[1-9]|1[0-2])\.(?!\s?\d)", read.numeric_no_year),
    # 31/03
    _rule(rf"{_FREE}{_LEAD}(?P<a>\d{{1,2}})(?P<sep>/)(?P<b>\d{{1,2}})(?![\d/]|[.,]\d|\s?[€$%])", read.numeric_no_year),
    # March 2026, end of March
    _rule(
        rf"{_FREE}(?<!\d\s)(?<!\d\.\s)(?P<end>{_ENDS}\s{{1,2}})?"
        rf"(?P<month>{words.MONTH})(?!\.?\s\d{{1,2}}(?!\d))(?:\s{{1,2}}(?:del?\s)?(?P<y>{_YEAR}))?",
        read.whole_month,
    ),
    # 03/2027
    _rule(rf"{_FREE}(?P<m>0?[1-9]|1[0-2])/(?P<y>20\d\d)(?![\d/])", read.numeric_month),
    # within 14 days, sous quinze jours
    _rule(
        rf"\b{_IN}(?:\s{{1,2}}|['’]){_COUNT}\s{{1,2}}{_WORKING}(?:calendar\s|kalender(?=tag))?{_UNIT}",
        read.in_days,
    ),
    # sous huitaine, sous quinzaine
    _rule(r"\bsous (?P<fortnight>huitaine|quinzaine)\b", read.fortnight),
    # tomorrow, but neither "good morning" nor "por la mañana"
    _rule(rf"(?<!good\s)(?<!guten\s)(?<!am\s)(?<!la\s)(?<!de\s)\b(?P<word>{_TODAY})(?![^\W\d_])", read.relative_word),
    # by Friday
    _rule(rf"\b{_ON}(?P<weekday>{words.LONG_WEEKDAY})(?!,?\s{{1,2}}(?:the |den |le |el )?\d)", read.weekday),
    # end of the month
    _rule(rf"\b(?:{_END_OF})\b", read.end_of),
    # the 28th
    _rule(rf"\b(?:the|am|zum|bis(?: zum)?|le|el|del)\s(?P<d>{_DAY})(?:st|nd|rd|th|\.|º)?{_NO_DAY}", read.day_alone),
)
