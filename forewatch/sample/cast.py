"""The invented people and companies of a household: names, addresses, accounts, all under .example."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from forewatch.sample.dice import Dice
from forewatch.sample.iban import iban
from forewatch.sample.letter import Address
from forewatch.sample.speech import LANGUAGES, Book, Language, Speaker, phrases

_FIRST: dict[Language, tuple[str, ...]] = {
    "en": ("Alice", "Oliver", "Hazel", "Rupert", "Imogen", "Callum", "Beatrix", "Desmond", "Flora", "Gareth"),
    "de": ("Annika", "Jörg", "Käthe", "Lorenz", "Ulrike", "Matthias", "Greta", "Björn", "Swantje", "Tilman"),
    "fr": ("Aurélie", "Benoît", "Chloé", "Étienne", "Françoise", "Gaëtan", "Héloïse", "Mathieu", "Noémie", "Rémi"),
    "es": ("Íñigo", "Begoña", "Candela", "Darío", "Lucía", "Martín", "Nuria", "Rocío", "Sebastián", "Ximena"),
}
_SURNAMES: dict[Language, tuple[str, ...]] = {
    "en": ("Ashdown", "Brackley", "Coldwell", "Fenwick", "Harrowgate", "Lockhart", "Merriden", "Pemberley"),
    "de": ("Ackermann", "Bräuer", "Dreyer", "Großkopf", "Hünefeld", "Kestler", "Lohmüller", "Quandten"),
    "fr": ("Beauchêne", "Chastelain", "Desroches", "Fauvel", "Guérin", "Lefèbvre", "Montreuil", "Vasseur"),
    "es": ("Aldecoa", "Barrientos", "Cienfuegos", "Echeverría", "Mondragón", "Núñez", "Peñalver", "Valcárcel"),
}
_STEMS: dict[Language, tuple[str, ...]] = {
    "en": (
        "Alderwick", "Bramblemere", "Castlerow", "Dunholme", "Eastmarsh", "Fernlow", "Graylock", "Hollowmoor",
        "Kestrelby", "Larkmead", "Millhaven", "Nettlecross", "Oakbourne", "Penhallet", "Ravensmead", "Silverbeck",
        "Thornby", "Underhill", "Wexcombe", "Yarrowdale",
    ),
    "de": (
        "Ahornfeld", "Birkenried", "Dornau", "Eschenbruck", "Falkenhorst", "Grünwiesen", "Hohenlinde", "Immenrode",
        "Kranichsee", "Lindental", "Moorkamp", "Nebelstein", "Ottersbach", "Quellheim", "Rabenau", "Seefurt",
        "Tannrode", "Ulmenhof", "Wolkenburg", "Zinnwiese",
    ),
    "fr": (
        "Aubevoie", "Belleroche", "Clairmont", "Doucelieu", "Épinoy", "Fontvive", "Grandpré", "Hauterive",
        "Joncheray", "Longval", "Montclair", "Noirterre", "Orvallon", "Pierrefeu", "Rochebelle", "Sauveterre",
        "Tillac", "Valbrune", "Vertbois", "Yvelon",
    ),
    "es": (
        "Almenara", "Bellavista", "Campoviejo", "Doñarrosa", "Espinoso", "Fuenclara", "Guadalviar", "Hontanar",
        "Jaramillo", "Lagunilla", "Miraflor", "Navaseca", "Olmedilla", "Peñalba", "Robledal", "Sotillo",
        "Torrenueva", "Valdehermosa", "Villaclara", "Zarzuela",
    ),
}  # fmt: skip
_PARTS: dict[Language, tuple[str, str]] = {
    "en": (
        "Ash Barn Crow Elder Fox Gorse Hazel Iron Kirk Lamb Marl Otter Pike Quarry Rook Stan",
        "bury combe field gate ham holt leigh stow wick worth",
    ),
    "de": (
        "Amsel Buchen Distel Erlen Fichten Hasel Kiefern Lerchen Mühl Reiher Schilf Storchen Wachtel Weiden Zander",
        "au bach berg dorf furt grund hain hausen moos tal",
    ),
    "fr": (
        "Aigue Beau Bonne Claire Fosse Gente Haute Jolie Malle Noble Plaine Roque Saute Verte Vieille",
        "bois fort lande mare mont pierre rive roche tour ville",
    ),
    "es": (
        "Agua Alta Arroyo Buena Campo Casa Cerro Fresno Llana Mata Monte Piedra Roble Torre Valle",
        "blanca fría grande hermosa honda luz mayor negra nueva real",
    ),
}
"""Beginnings and ends of more place names, for when those above have been used up."""
_COUNTRY: dict[Language, str] = {"en": "NL", "de": "DE", "fr": "FR", "es": "ES"}


@dataclass(frozen=True, slots=True)
class Person:
    first: str
    surname: str
    address: Address
    speaker: Speaker


@dataclass(frozen=True, slots=True)
class Company:
    """``sender`` is where its automatic mail comes from."""

    name: str
    trade: str
    sender: Address
    speaker: Speaker
    iban: str
    creditor: str
    """SEPA creditor identifier, for direct debits."""

    @property
    def lang(self) -> Language:
        return self.speaker.lang

    @property
    def domain(self) -> str:
        return self.sender.domain


@dataclass(frozen=True, slots=True)
class Family:
    surname: str
    owner: Person
    partner: Person
    children: tuple[str, str]
    friends: tuple[Person, ...]


def slug(text: str) -> str:
    """Lower-case ASCII letters and hyphens, as domains and local parts want them."""
    text = text.replace("ß", "ss").replace("ø", "o")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


class Registry:
    """Hands out names of which no two are alike, in one household."""

    def __init__(self, dice: Dice, book: Book) -> None:
        self._dice = dice
        self._book = book
        self._stems: dict[Language, list[str]] = {}
        self._taken: set[str] = set()

    def family(self) -> Family:
        dice = self._dice["family"]
        lang = dice.pick(LANGUAGES)
        surname = dice.pick(_SURNAMES[lang])
        firsts = dice.shuffled(_FIRST[lang])
        domain = f"{slug(surname)}-home.example"
        owner, partner = (_person(dice[first], first, surname, domain, lang, self._book) for first in firsts[:2])
        friends = tuple(self._friend(dice["friend", index], LANGUAGES[index % 4]) for index in range(16))
        self._taken.add(surname)
        return Family(surname, owner, partner, (firsts[2], firsts[3]), friends)

    def _friend(self, dice: Dice, lang: Language) -> Person:
        while True:
            first, surname = dice.pick(_FIRST[lang]), dice.pick(_SURNAMES[lang])
            if f"{first} {surname}" not in self._taken:
                self._taken.add(f"{first} {surname}")
                domain = dice.pick(("postbox.example", "mailhaus.example", "courriel.example", "correo.example"))
                return _person(dice, first, surname, domain, lang, self._book)

    def company(self, lang: Language, trade: str) -> Company:
        """A new company, unlike all before."""
        dice = self._dice["company", lang, trade, len(self._taken)]
        while True:
            template = dice.pick(phrases(lang)["trades"][trade])
            name = template.format(stem=self.stem(lang), person=dice.pick(_SURNAMES[lang]))
            if slug(name) not in self._taken:
                self._taken.add(slug(name))
                return _company(dice, lang, trade, name, self._book)

    def stem(self, lang: Language) -> str:
        """A place name; all are used before one comes again."""
        if not self._stems.get(lang):
            names = _STEMS[lang] if lang not in self._stems else _compounds(lang)
            self._stems[lang] = self._dice["stems", lang, len(self._taken)].shuffled(names)
        return self._stems[lang].pop()


def _compounds(lang: Language) -> list[str]:
    beginnings, ends = (part.split() for part in _PARTS[lang])
    return [beginning + end for beginning in beginnings for end in ends]


def _person(dice: Dice, first: str, surname: str, domain: str, lang: Language, book: Book) -> Person:
    address = Address(f"{first} {surname}", f"{slug(first)}.{slug(surname)}@{domain}")
    return Person(first, surname, address, Speaker.of(lang, dice["speaker"], book))


def _company(dice: Dice, lang: Language, trade: str, name: str, book: Book) -> Company:
    local = dice.pick(("service", "info", "noreply", "office", "billing"))
    creditor = f"{_COUNTRY[lang]}{dice.digits(2)}ZZZ{dice.digits(11)}"
    return Company(
        name=name,
        trade=trade,
        sender=Address(name, f"{local}@{slug(name)}.example"),
        speaker=Speaker.of(lang, dice["speaker"], book),
        iban=iban(dice["iban"], _COUNTRY[lang]),
        creditor=creditor,
    )
