"""English made of names: `primaryId` becomes "primary ID", `Match` "matches".

Pure functions over short texts, with small word lists; they know no graph. Where a name gives no
hint, the words are the name's own, so that a reader still recognises it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

_PARTS = re.compile(
    # "2nd" and "3D" are one word.
    r"\d+(?:st|nd|rd|th)(?![^\W\d_])|(?<!\d)[23]D(?![a-z]|[A-Z](?![a-z]))"
    r"|[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|\d+"
)
_SPOKEN = {
    "id": "ID",
    "ids": "IDs",
    "ip": "IP",
    "url": "URL",
    "isbn": "ISBN",
    "iso": "ISO",
    "dob": "date of birth",
    "qty": "quantity",
    "desc": "description",
    "num": "number",
    "avg": "average",
    "pct": "percentage",
    "gdp": "GDP",
    "tv": "TV",
    "uk": "UK",
    "us": "US",
    "api": "API",
}
#: Words that names run together: `healthstatus`, `starttime`, `primaryid`.
_JOINED = frozenset(
    "account address age amount area average birth case city code confirmed cost count country"
    " creation created date day death description dose duration email end event first founding full"
    " group health home id inception kind last location max min mode month name nick number order"
    " pass phone place population post price primary product quantity rank rate rating release"
    " report run score serial short size start state status street sub time title total type unit"
    " update user value visit weight year zip".split()
)
_IRREGULAR = {
    "person": "people",
    "child": "children",
    "man": "men",
    "woman": "women",
    "mouse": "mice",
    "foot": "feet",
    "tooth": "teeth",
    "goose": "geese",
    "datum": "data",
    "criterion": "criteria",
    "phenomenon": "phenomena",
    "taxon": "taxa",
    "genus": "genera",
    "analysis": "analyses",
    "basis": "bases",
    "crisis": "crises",
    "diagnosis": "diagnoses",
    "hypothesis": "hypotheses",
    "life": "lives",
    "wife": "wives",
    "knife": "knives",
    "leaf": "leaves",
    "half": "halves",
    "shelf": "shelves",
    "wolf": "wolves",
    "index": "indexes",
    "matrix": "matrices",
    "hero": "heroes",
    "potato": "potatoes",
    "echo": "echoes",
    "quiz": "quizzes",
}
_UNCHANGED = frozenset(
    "series species sheep fish aircraft spacecraft data media news equipment information software"
    " hardware staff music research content feedback people police metadata".split()
)
#: Words in -ie: their plurals are none of -y.
_IE = frozenset("movie cookie calorie zombie rookie tie pie lie die brownie selfie genie".split())
_SINGULAR = {plural: one for one, plural in _IRREGULAR.items()}
_NOT_PLURAL = ("ss", "us", "is", "as", "ous")
_PEOPLE = frozenset(
    "person people user player actor actress author writer director producer customer client"
    " employee manager coach teacher student doctor patient nurse physician artist painter sculptor"
    " singer musician member reviewer critic owner friend child parent mother father husband wife"
    " man woman boy girl scientist researcher politician president minister officer agent driver"
    " pilot passenger guest host visitor subscriber follower creator developer engineer lawyer judge"
    " victim suspect terrorist criminal witness contact candidate voter worker individual citizen"
    " resident inhabitant tenant instructor professor supervisor buyer seller vendor character"
    " composer designer editor participant contributor speaker athlete"
    " scorer captain referee king queen soldier knight chef farmer librarian investor shareholder"
    " journalist reporter applicant colleague neighbour neighbor sibling brother sister son daughter"
    " cousin uncle aunt mentor sponsor trader lender borrower learner".split()
)
_AN_SOUND = re.compile(
    r"(?:hour|honest|honou?r|heir|[aefhilmnorsx]-|FBI|HTML|SMS|MP)", re.IGNORECASE
)
_A_SOUND = re.compile(
    r"(?:uni(?!n|m)|use|usa|euro|one\b|once|ut[ie]|ub|u\b|UK|URL|US\b)", re.IGNORECASE
)


@cache
def words(name: str) -> str:
    """A name as words: camelCase, snake_case and kebab-case apart, acronyms kept.

    >>> words("movieId"), words("IpAddress"), words("healthstatus"), words("IN_TOURNAMENT")
    ('movie ID', 'IP address', 'health status', 'in tournament')
    """
    parts = _PARTS.findall(name) or [name]
    spoken: list[str] = []
    for part in parts:
        lower = part.lower()
        for piece in _unjoined(lower):
            keep = part if part.isupper() and len(part) > 1 and len(parts) > 1 else piece
            shout = name.upper() == name
            spoken.append(_SPOKEN.get(piece, piece if shout or keep != part else part))
    return " ".join(spoken)


def _unjoined(word: str) -> tuple[str, ...]:
    """Cut `starttime` in two where both halves are known words and the whole is none."""
    if word in _JOINED or word in _SPOKEN or len(word) < 6:
        return (word,)
    for cut in range(2, len(word) - 1):
        if word[:cut] in _JOINED and word[cut:] in _JOINED:
            return (word[:cut], word[cut:])
    return (word,)


@cache
def plural(phrase: str) -> str:
    """The plural of a noun phrase: of its head, which is the last word or stands before "of", "in".

    >>> plural("match"), plural("date of birth"), plural("age group"), plural("height in cm")
    ('matches', 'dates of birth', 'age groups', 'heights in cm')
    """
    head, of, tail = phrase.partition(" of " if " of " in phrase else " in ")
    before, _, last = head.rpartition(" ")
    return f"{before} {_plural_word(last)}".strip() + of + tail


def _plural_word(word: str) -> str:
    lower = word.lower()
    if lower in _UNCHANGED or not lower:
        return word
    if lower in _IRREGULAR:
        return _like(word, _IRREGULAR[lower])
    if lower in _SINGULAR:
        return word
    if word.isupper() and len(word) > 1:
        return word + "s"
    if re.search(r"[^aeiou]y$", lower):
        return word[:-1] + "ies"
    if re.search(r"(?:s|x|z|ch|sh)$", lower):
        return word + "es"
    return word + "s"


@cache
def singular(phrase: str) -> str:
    """The singular of a noun phrase; one that is no plural stays.

    >>> singular("users"), singular("companies"), singular("address"), singular("people")
    ('user', 'company', 'address', 'person')
    """
    before, _, last = phrase.rpartition(" ")
    return f"{before} {_singular_word(last)}".strip()


def _singular_word(word: str) -> str:
    lower = word.lower()
    if lower in _UNCHANGED and lower != "people":
        return word
    if lower in _SINGULAR:
        return _like(word, _SINGULAR[lower])
    if word.endswith("s") and word[:-1].isupper() and len(word) > 2:
        return word[:-1]
    if not lower.endswith("s") or lower.endswith(_NOT_PLURAL) or len(lower) < 4:
        return word
    if lower.endswith("ies") and len(lower) > 4 and lower[:-1] not in _IE:
        return word[:-3] + "y"
    if re.search(r"(?:sses|shes|ches|xes|zzes|tuses|buses)$", lower):
        return word[:-2]
    return word[:-1]


def _like(model: str, word: str) -> str:
    return word.capitalize() if model[:1].isupper() else word


#: What databases of tables put before a name.
_TABLE = re.compile(r"^(?:tbl|dim|vw)_(?=[^\W\d])", re.IGNORECASE)


@cache
def noun(label: str) -> str:
    """The singular noun of a label.

    >>> noun("IpAddress"), noun("Users"), noun("AgeGroup"), noun("tbl_orders")
    ('IP address', 'user', 'age group', 'order')
    """
    return singular(words(_TABLE.sub("", label) or label))


def article(phrase: str) -> str:
    """ "a" or "an", by sound.

    >>> article("user"), article("IP address"), article("hour"), article("age group")
    ('a', 'an', 'an', 'an')
    """
    first = phrase.lstrip("'\"(").split(" ")[0] if phrase else ""
    if _A_SOUND.match(first):
        return "a"
    if _AN_SOUND.match(first):
        return "an"
    if first.isupper() and 1 < len(first) <= 4:
        return "an" if first[0] in "AEFHILMNORSX" else "a"
    return "an" if first[:1].lower() in "aeiou" else "a"


def a(phrase: str) -> str:
    """The phrase with its indefinite article."""
    return f"{article(phrase)} {phrase}"


def listed(items: Sequence[str], last: str = "and") -> str:
    """Items as a list in a sentence: "a", "a and b", "a, b and c"."""
    if len(items) <= 1:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def is_person(label: str) -> bool:
    """Whether one says "who" of a label's nodes.

    >>> is_person("User"), is_person("TeamMember"), is_person("Movie")
    (True, True, False)
    """
    return noun(label).lower().split(" ")[-1] in _PEOPLE


def who(label: str) -> str:
    """The relative pronoun of a label."""
    return "who" if is_person(label) else "that"


def sentence(text: str) -> str:
    """The text with a capital at its start and single spaces."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]
