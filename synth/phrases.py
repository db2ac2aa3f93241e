"""What a relationship type says, as English: "watched", "was reported by", "is part of".

A type's name is read word by word: a verb in the past (`WATCHED`) or present (`USES`), a passive
(`REPORTED_BY`, `LOCATED_AT`), a preposition or a noun with one (`IN_SQUAD`, `PART_OF`), a having
(`HAS_GENRE`) or a bare noun (`MANAGER`). Each gives one phrase from either end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cypherforge.synth.words import a, is_person, noun, singular, who, words
from cypherforge.synth.words import plural as plural_of

PREPOSITIONS = frozenset(
    "in on at of by for to from with under over into about as against through during within"
    " between near after before upon via onto behind beside".split()
)
_IRREGULAR = {
    # base: (past, participle)
    line.split()[0]: (line.split()[1], line.split()[-1])
    for line in """write wrote written
win won
know knew known
take took taken
give gave given
make made
send sent
buy bought
sell sold
pay paid
lead led
hold held
meet met
see saw seen
teach taught
build built
grow grew grown
feed fed
drive drove driven
eat ate eaten
leave left
lend lent
speak spoke spoken
sing sang sung
wear wore worn
run ran run
begin began begun
come came come
go went gone
fall fell fallen
find found
get got
keep kept
lose lost
read read
say said
sit sat
stand stood
tell told
think thought
become became become
choose chose chosen
draw drew drawn
fight fought
fly flew flown
hide hid hidden
hit hit
put put
set set
cut cut
spend spent
steal stole stolen
throw threw thrown
bear bore born
lie lay lain
have had
do did done
be was been
beat beat beaten
break broke broken
bring brought
cast cast
catch caught
shoot shot
show showed shown
prey preyed""".splitlines()
}
_VERBS = (
    frozenset(
        "accept access act add address admit advise affect allow answer appear apply approve"
        " arrive ask assign attack attend author award belong block book borrow call capture carry"
        " cause change check cite classify close coach collect command comment compete complete"
        " compose conduct connect consist consume contain contribute control cook cover create define"
        " deliver demote depend depict deploy describe design destroy develop direct discover"
        " discuss display distribute divide donate download drain earn edit educate employ enable"
        " encode end endorse enjoy enrol enroll enter establish exhibit expire explore export"
        " express feature finance finish fix flow follow found fund generate govern graduate guard"
        " guide handle happen hate head help hire host identify illustrate import include"
        " increase inform inhabit inherit inhibit inspect inspire install interact invent invest"
        " invite involve issue join judge kill launch learn like link list live load locate love"
        " maintain manage manufacture mark market marry match mention mentor modify monitor move"
        " name nominate notify observe occupy occur offer open operate order organise organize own"
        " paint parent participate pass perform place plan play populate post practice prefer"
        " prescribe present preside prevent process produce promote protect provide publish"
        " purchase qualify rank rate reach receive recommend record reference refer register"
        " reject relate release remove rent repair replace reply report represent request require"
        " research resemble reserve reside resolve respond result return review reward score"
        " search serve share ship sign solve sponsor star start stay stop store study subscribe"
        " succeed suffer suggest supervise supply support target test track trade train transfer"
        " translate transport travel treat trigger tweet upload use utilize verify view violate"
        " visit volunteer vote wait walk want watch work".split()
    )
    | _IRREGULAR.keys()
)
#: Of an unknown word in -s: what is hardly ever a noun's plural.
_VERB_ENDINGS = ("ulates", "ivates", "icates", "erates", "izes", "ises", "ifies")
_MODALS = frozenset("can could may might must shall should will would".split())
#: Heads before a preposition that take no article, and have no plural.
_NO_ARTICLE = frozenset(
    "part native due similar next close adjacent equal equivalent identical opposite parallel prior"
    " subject relevant specific dependent".split()
)
#: Bare words that a type calls its end by, though they are verbs too: PARENT, AUTHOR.
_AGENTS = frozenset(
    "author parent mentor host sponsor guide judge star guard head lead coach support market"
    " target name rank score order plan place review result record reference share".split()
)
#: What a bare participle of these is followed by: "related to".
_COMPLETED = {"related": "to", "connected": "to", "associated": "with"}
#: Verbs that "of" follows; after another in its base form the word is a noun: PARENT_OF.
_VERBS_OF = frozenset("approve know think hear speak tell become come consist".split())
_PASSIVE = frozenset(
    "located based born related connected associated linked assigned contained derived married"
    " displayed stored situated headquartered mentioned listed included dedicated involved"
    " published housed composed made attached enrolled employed registered bound known named built"
    " founded set filmed hosted held sold tagged classified categorized sent treated diagnosed"
    " infected affected supplied equipped".split()
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """One type between two labels.

    ``plural`` and ``singular`` stand between subject (the start) and object, by the subject's
    number: "use"/"uses". ``by`` is the reduced passive from the other end, "watched by", empty
    where there is none, and ``past`` its tense; ``active``: it is the verb of the end, "created".
    ``noun`` is set where the end is called something of the start: "primary
    suspect". ``text`` is the bare phrase for short forms.
    """

    plural: str
    singular: str
    by: str = ""
    noun: str = ""
    text: str = ""
    past: bool = False
    active: bool = False

    def forward(self, label: str, target: str, *, many: bool = True) -> str:
        """The relative clause of the start: "who watched TARGET"."""
        if self.noun:
            return f"whose {self.noun} is {target}"
        return f"{who(label)} {self.plural if many else self.singular} {target}"

    def backward(
        self,
        label: str,
        source: str,
        *,
        many: bool = True,
        plural: bool = False,
        full: bool = False,
    ) -> str:
        """The relative clause of the end: "watched by SOURCE", "that SOURCE is part of".

        ``label`` and ``many`` are the end's; ``plural`` says whether SOURCE is. ``full`` makes it
        "that were watched by SOURCE", which stands beside other clauses.
        """
        if self.noun:
            called = f"are {plural_of(self.noun)}" if many else f"is the {self.noun}"
            return f"{who(label)} {called} of {source}"
        if self.active:
            return f"{who(label)} {self.by} {source}"
        if self.by and full:
            be = ("were" if many else "was") if self.past else ("are" if many else "is")
            return f"{who(label)} {be} {self.by} {source}"
        if self.by:
            return f"{self.by} {source}"
        if self.text == "with":
            return f"of {source}"
        return f"that {source} {self.plural if plural else self.singular}"


@cache
def phrase(rel_type: str, start: str, end: str) -> Phrase:
    """Return what a type says between two labels."""
    parts = words(rel_type).split(" ")
    parts = [p.lower() if p.lower() in PREPOSITIONS | _VERBS else p for p in parts]
    text = " ".join(parts)
    first, rest = parts[0].lower(), parts[1:]
    if first in ("has", "have", "had"):
        return _having(rest, end, text)
    if first in ("is", "are", "was", "were"):
        return _being(first, rest, text)
    if first in _MODALS and rest:
        tail = " ".join(rest)
        return Phrase(f"{first} {tail}", f"{first} {tail}", text=text)
    if not rest and first in _COMPLETED:
        tail = f"{first} {_COMPLETED[first]}"
        return Phrase(f"are {tail}", f"is {tail}", text=tail)
    if _names_both(parts, start, end):
        return Phrase("have", "has", text="with")
    if first in PREPOSITIONS:
        rest = _without(rest, end)
        tail = " ".join([first, *rest])
        return Phrase(f"are {tail}", f"is {tail}", text=tail)
    if rest and rest[-1].lower() in PREPOSITIONS and rest[-1].lower() == "by":
        lead = " ".join(parts[:-1])
        base = _lemma(first)
        # "created by": the end did it to the start.
        active = _past(base[0]) if base and len(rest) == 1 else ""
        return Phrase(f"were {lead} by", f"was {lead} by", active, text=text, active=bool(active))
    if first in _PASSIVE and rest and rest[0].lower() in PREPOSITIONS:
        tail = " ".join([parts[0], rest[0], *_without(rest[1:], end)])
        return Phrase(f"are {tail}", f"is {tail}", text=tail)
    base = _lemma(first)
    noun_of = [p.lower() for p in rest] == ["of"] and base == (first, "present")
    noun_of = noun_of and first not in _VERBS_OF
    noun_of = noun_of or (not rest and first in _AGENTS and not _people_do(start, end))
    if base is not None and not noun_of:
        return _verb(base, rest, end, text)
    if rest and any(p.lower() in PREPOSITIONS for p in rest):
        # "part of", "member of league": a noun with its preposition.
        at = next(i for i, p in enumerate(parts) if p.lower() in PREPOSITIONS)
        tail = " ".join([*parts[: at + 1], *_without(parts[at + 1 :], end)])
        head = " ".join(parts[:at])
        counted, several = _counted(head)
        return Phrase(
            f"are {several} {tail[len(head) :].strip()}",
            f"is {counted} {tail[len(head) :].strip()}",
            text=tail,
        )
    named = singular(text)
    if named.lower() == noun(end).lower():
        return Phrase("have", "has", text="with")
    return Phrase("", "", noun=named, text=named)


def _counted(head: str) -> tuple[str, str]:
    """What stands before a preposition, of one and of several: "a friend", "friends"."""
    if head.lower() == "same":
        return f"the {head}", f"the {head}"
    if head.lower() in _NO_ARTICLE or head.lower().endswith("ing"):
        return head, head
    return a(head), plural_of(head)


def _people_do(start: str, end: str) -> bool:
    """Whether a type that may be a verb or a noun is a verb: people do it to what is none."""
    return is_person(start) and not is_person(end)


def _names_both(parts: list[str], start: str, end: str) -> bool:
    """Whether a type is only called by its ends: `customer_movie`."""
    said = [singular(p.lower()) for p in parts]
    ends = f"{noun(start)} {noun(end)}".lower().split(" ")
    return said == [singular(p) for p in ends]


def _without(rest: list[str], end: str) -> list[str]:
    """The words less a trailing noun that only repeats the end's label."""
    return [] if singular(" ".join(rest)).lower() == noun(end).lower() else rest


def _having(rest: list[str], end: str, text: str) -> Phrase:
    if not rest or not _without(rest, end):
        return Phrase("have", "has", text="with")
    named = singular(" ".join(rest))
    if rest[-1].lower() in PREPOSITIONS:
        tail = " ".join(rest)
        return Phrase(f"have {tail}", f"has {tail}", text=text)
    base = _lemma(rest[0].lower())
    if base is not None and base[1] == "past":
        return _verb(base, rest[1:], end, text)
    return Phrase("", "", noun=named, text=named)


def _being(first: str, rest: list[str], text: str) -> Phrase:
    tail = " ".join(rest)
    if rest and rest[-1].lower() in PREPOSITIONS:
        many = "were" if first in ("was", "were") else "are"
        one = "was" if first in ("was", "were") else "is"
        if len(rest) == 2 and _lemma(rest[0].lower()) is None and not rest[0].endswith("ed"):
            counted, several = _counted(rest[0])
            return Phrase(f"{many} {several} {rest[1]}", f"{one} {counted} {rest[1]}", text=tail)
        return Phrase(f"{many} {tail}", f"{one} {tail}", text=tail)
    if tail.lower() in ("a", "an"):
        return Phrase("are kinds of", "is a kind of", text="kind of")
    return Phrase("", "", noun=tail or "counterpart", text=tail)


def _verb(base: tuple[str, str], rest: list[str], end: str, text: str) -> Phrase:
    lemma, tense = base
    many = _past(lemma) if tense == "past" else lemma
    one = _past(lemma) if tense == "past" else _third(lemma)
    kept = _without(rest, end)
    if not kept:
        return Phrase(many, one, f"{_participle(lemma)} by", text=text, past=tense == "past")
    if kept[-1].lower() in PREPOSITIONS or kept[0].lower() in PREPOSITIONS:
        tail = " ".join(kept)
        return Phrase(f"{many} {tail}", f"{one} {tail}", text=text)
    # "scored goal": its own object stands in the name, so the end is where it happened.
    tail = f"{a(' '.join(kept))} in"
    return Phrase(f"{many} {tail}", f"{one} {tail}", text=f"{text} in")


@cache
def _lemma(word: str) -> tuple[str, str] | None:
    """The base form and the tense ("past" or "present") of a verb form; None for other words."""
    for base, (past, participle) in _IRREGULAR.items():
        if word in (past, participle) and word != base:
            return base, "past"
    if word in _VERBS:
        return word, "present"
    if word.endswith("ed"):
        for base in (word[:-2], word[:-1], word[:-3], word[:-3] + "y"):
            # "stopped" and "carried" lose more than their ending, "flowed" does not.
            if base in _VERBS and _past(base) == word:
                return base, "past"
        return (
            word[:-1] if word.endswith(("ated", "ized", "ised", "ced", "ged", "ved")) else word[:-2]
        ), "past"
    if word.endswith("s"):
        for base in (word[:-1], word[:-2], word[:-3] + "y"):
            if base in _VERBS and _third(base) == word:
                return base, "present"
        if word.endswith(_VERB_ENDINGS):
            return word[:-3] + "y" if word.endswith("fies") else word[:-1], "present"
    return None


def _third(lemma: str) -> str:
    special = {"have": "has", "do": "does", "go": "goes", "be": "is"}
    if lemma in special:
        return special[lemma]
    if lemma.endswith("y") and lemma[-2:-1] not in tuple("aeiou"):
        return lemma[:-1] + "ies"
    return lemma + ("es" if lemma.endswith(("s", "x", "z", "ch", "sh")) else "s")


_DOUBLED = frozenset("star stop plan ship refer occur transfer admit prefer commit control".split())


def _regular(lemma: str) -> str:
    if lemma.endswith("e"):
        return lemma + "d"
    if lemma.endswith("y") and lemma[-2:-1] not in tuple("aeiou"):
        return lemma[:-1] + "ied"
    return lemma + (lemma[-1] if lemma in _DOUBLED else "") + "ed"


def _past(lemma: str) -> str:
    return _IRREGULAR[lemma][0] if lemma in _IRREGULAR else _regular(lemma)


def _participle(lemma: str) -> str:
    return _IRREGULAR[lemma][1] if lemma in _IRREGULAR else _regular(lemma)
