"""Which faults a draft has, in the order of repair, proven by the repairs.

The draft is made to parse, laid over the gold, and every difference becomes an edit. With a graph the
edits are made and run: those without which the result is still the gold's are no faults but other
ways to say the same; if the rest gives the gold's rows, they are confirmed.
"""

from __future__ import annotations

from dataclasses import replace

from cypherforge.core.errors import QueryError, QueryTimeout
from cypherforge.cypher import CypherSyntaxError, ast, parse
from cypherforge.cypher.analysis import analyse
from cypherforge.cypher.edits import apply_edits
from cypherforge.diagnosis.compare_queries import differences
from cypherforge.diagnosis.confirm import Bench, is_ordered
from cypherforge.diagnosis.difference import Difference, Span, moved
from cypherforge.diagnosis.engine_errors import code_of_error, code_of_finding
from cypherforge.diagnosis.foreign import Foreign, foreign_parts, slips
from cypherforge.diagnosis.model import UNKNOWN, Edition, Fault, family_of
from cypherforge.diagnosis.parse_repairs import looks_foreign, repair_parse
from cypherforge.diagnosis.repaired_texts import Texts
from cypherforge.diagnosis.scope_faults import clash, clash_repairs, scope_repairs, unbound
from cypherforge.graph.base import Graph, Result
from cypherforge.graph.compare import same_rows
from cypherforge.graph.schema import Schema

#: A second look at the repaired draft finds what the first repairs covered; more looks find noise.
_LOOKS = 3


def diagnose(
    draft: str,
    gold: str,
    graph: Graph | None = None,
    schema: Schema | None = None,
    draft_result: Result | None = None,
    gold_result: Result | None = None,
    edition: Edition = 2,
) -> list[Fault]:
    """Return the draft's faults in the order of repair; empty if it has none.

    With ``graph`` what is not given of the results is run, and the faults are confirmed or not. What
    cannot be told comes as one fault of code ``unknown`` with the reason. Raises only what a graph
    raises when it is out of reach.
    """
    try:
        gold_tree = parse(gold)
    except CypherSyntaxError as error:
        return [_unknown(f"the gold does not parse: {error}")]
    bench = Bench(gold, graph, gold_result, is_ordered(gold))
    if draft_result is not None:
        bench.know(draft, draft_result)
    if graph is not None and bench.gold_result is None:
        outcome = bench.run(gold)
        if isinstance(outcome, QueryError):
            return [_unknown(f"the gold fails: {outcome.message}")]
        if isinstance(outcome, Result):
            bench.gold_result = outcome
    if bench.right(draft):
        return []
    return _Diagnosis(draft, gold_tree, schema, bench, edition).faulted()


def _unknown(reason: str) -> Fault:
    return Fault(UNKNOWN, UNKNOWN, (), None, None, f"cannot tell: {reason}")


class _Diagnosis:
    def __init__(
        self,
        draft: str,
        gold: ast.Query,
        schema: Schema | None,
        bench: Bench,
        edition: Edition,
    ) -> None:
        self.draft = draft
        self.gold = gold
        self.schema = schema
        self.bench = bench
        self.edition = edition
        self.texts = Texts()
        self.faults: list[Fault] = []

    def faulted(self) -> list[Fault]:
        """The faults; where they are not confirmed though repairs run, with what cannot be told."""
        faults = self.run()
        if self.bench.live and not all(fault.confirmed for fault in faults):
            if all(fault.code != UNKNOWN for fault in faults):
                faults.append(_unknown(self._remainder(faults)))
        return faults

    def run(self) -> list[Fault]:
        """The faults in the order of repair."""
        text = self.draft
        try:
            tree = parse(text)
        except CypherSyntaxError as error:
            repaired = repair_parse(text)
            if repaired is None:
                code = "syntax.dialect" if looks_foreign(text) else "syntax.parse"
                reason = f"{error}; no small change makes it parse"
                return [Fault(code, "syntax", (error.span,), None, None, reason)]
            text = repaired.text
            tree = parse(text)
            right = self.bench.right(text)
            fault = Fault(repaired.code, "syntax", (repaired.span,), text, right, repaired.reason)
            if right:
                return [fault]
            self.faults.append(fault)
        for _ in range(_LOOKS):
            part = next((p for p in slips(tree) if p.edits is not None), None)
            if part is None:
                break
            changed = apply_edits(text, part.edits or ())
            right = self.bench.right(changed)
            spans = (part.span,) if text == self.draft else ()
            self.faults.append(Fault("syntax.parse", "syntax", spans, changed, right, part.reason))
            if right:
                return self.faults
            text, tree = changed, parse(changed)
        parted = self._parted(text, tree)
        if parted is not None:
            self.faults.append(parted)
            if parted.confirmed or parted.repair is None:
                return self.faults
            text, tree = parted.repair, parse(parted.repair)
        failure = self.bench.fails(text)
        if isinstance(failure, QueryTimeout):
            failure = None
        return self._compare(text, tree, failure)

    def _parted(self, text: str, tree: ast.Query) -> Fault | None:
        """The fault of one name for two things, repaired in the way that leaves least to repair."""
        variable = clash(tree)
        if variable is None:
            return None
        best: tuple[int, str, str] | None = None
        for edits, reason in clash_repairs(tree, variable):
            changed = apply_edits(text, edits)
            try:
                left = self._differences(parse(changed))
            except CypherSyntaxError:
                continue
            if not isinstance(left, str) and (best is None or len(left) < best[0]):
                best = (len(left), changed, reason)
        spans = (variable.span,) if text == self.draft else ()
        if best is None:
            reason = f"{variable.name} is bound as two kinds of things"
            return Fault("syntax.type", "syntax", spans, None, None, reason)
        right = self.bench.right(best[1])
        return Fault("syntax.type", "syntax", spans, best[1], right, best[2])

    # ------------------------------------------------------------ differences

    def _compare(self, text: str, tree: ast.Query, error: QueryError | None) -> list[Fault]:
        found = self._differences(tree)
        if isinstance(found, str):
            if error is not None:
                return [*self.faults, self._of_error(error, text)]
            return [*self.faults, _unknown(found)] if not self.faults else self.faults
        # What the database has run holds no syntax fault, whatever we think of it.
        if not isinstance(self.bench.run(text), Result):
            found = self._syntax_first(text, tree, found, error)
        if not found:
            if self.faults:
                return self.faults
            if error is not None:
                return [self._of_error(error, text)]
            return [_unknown("no difference that the syntax trees show")]
        found_faults = self._confirmed(text, found)
        if self.bench.live and not all(fault.confirmed for fault in found_faults):
            found_faults = self._with_whole_tail(text, tree, error) or found_faults
        if all(fault.confirmed for fault in found_faults):
            # The chain ends with the gold's rows, so its first links are right too.
            self.faults = [replace(fault, confirmed=True) for fault in self.faults]
        self.faults += found_faults
        return self.faults

    def _remainder(self, faults: list[Fault]) -> str:
        """Why the faults that were found are not confirmed, in words."""
        lacking = next((fault for fault in faults if fault.repair is None), None)
        if lacking is not None:
            return f"whether that is all, for {lacking.code} has no repair that can be run"
        repaired = next(fault.repair for fault in reversed(faults) if fault.repair is not None)
        outcome, gold = self.bench.run(repaired), self.bench.gold_result
        if outcome is None or gold is None:
            return "whether that is all, for the diagnosis has run as many repairs as it may"
        if isinstance(outcome, QueryError):
            return f"what is left: the repaired draft fails ({outcome.message})"
        if len(outcome.rows) != len(gold.rows):
            return (
                f"what is left: the repaired draft gives {len(outcome.rows)} rows, "
                f"the gold {len(gold.rows)}"
            )
        if same_rows(outcome, gold):
            return "what is left: the repaired draft gives the gold's rows in another order"
        return "what is left: the repaired draft gives as many rows as the gold, but others"

    def _differences(self, tree: ast.Query, whole_tail: bool = False) -> list[Difference] | str:
        return differences(
            tree,
            self.gold,
            self.schema,
            self._only_columns,
            whole_tail=whole_tail,
            edition=self.edition,
        )

    def _with_whole_tail(
        self, text: str, tree: ast.Query, error: QueryError | None
    ) -> list[Fault] | None:
        """Confirm with one repair for all that stands behind the patterns; None if that fails too.

        Steps that aggregate hang together: repaired one by one they do not meet the gold's.
        """
        found = self._differences(tree, whole_tail=True)
        if isinstance(found, str):
            return None
        if not isinstance(self.bench.run(text), Result):
            found = self._syntax_first(text, tree, found, error)
        faults = self._confirmed(text, found)
        return faults if faults and all(fault.confirmed for fault in faults) else None

    def _syntax_first(
        self, text: str, tree: ast.Query, found: list[Difference], error: QueryError | None
    ) -> list[Difference]:
        """Name as syntax faults what keeps the draft from running."""
        foreign = list(foreign_parts(tree))
        if foreign:
            found = _foreign_first(found, foreign)
        loose = unbound(tree)
        if loose:
            return self._scoped(text, tree, found, loose)
        refused = self._refused(tree, foreign, loose)
        touched = any(_touches(d, part.span) for part in refused for d in found)
        if refused and (touched or error is None or not self.bench.live):
            return _foreign_first(found, refused)
        if error is not None and not foreign:
            return self._blamed(text, found, error)
        return found

    def _refused(
        self, tree: ast.Query, foreign: list[Foreign], loose: list[ast.Variable]
    ) -> list[Foreign]:
        """What the language analysis says the database refuses, and nothing else has named."""
        graph = self.bench.graph
        if graph is not None and graph.engine.startswith("memgraph"):
            return []
        named = [part.span for part in foreign] + [variable.span for variable in loose]
        return [
            Foreign(item.span, item.message, None, code_of_finding(item.code))
            for item in analyse(tree)
            if item.severity == "error"
            and not any(a < item.span[1] and item.span[0] < b for a, b in named)
        ]

    def _only_columns(self, mine: list[int], theirs: list[int]) -> bool | None:
        own, wanted = self.bench.run(self.draft), self.bench.gold_result
        if not isinstance(own, Result) or wanted is None:
            return None
        a, b = _without(own, mine), _without(wanted, theirs)
        return bool(same_rows(a, b)) if a.columns and b.columns else None

    def _of_error(self, error: QueryError, text: str) -> Fault:
        code = code_of_error(error)
        return Fault(code, family_of(code), (), None, None, error.message)

    def _scoped(
        self, text: str, tree: ast.Query, found: list[Difference], loose: list[ast.Variable]
    ) -> list[Difference]:
        """Say syntax.scope where a loose variable is the fault, with the repair that leaves least."""
        best: list[Difference] | None = None
        for edits, reason in scope_repairs(tree, loose[0]):
            try:
                changed = apply_edits(text, edits)
                again = self._differences(parse(changed))
            except (CypherSyntaxError, ValueError):
                continue
            if isinstance(again, str) or (best is not None and len(again) + 1 >= len(best)):
                continue
            back = [moved(difference, edits) for difference in again]
            best = [
                Difference("syntax.scope", (loose[0].span,), tuple(edits), reason),
                *[difference for difference in back if difference is not None],
            ]
        covered = [d for d in found if _covers(d, loose)]
        plain = [
            Difference(
                "syntax.scope", d.spans, d.edits, f"{_names(loose)} bound nowhere; {d.reason}"
            )
            if d in covered
            else d
            for d in found
        ]
        if best is not None and (not covered or len(best) <= len(plain)):
            return best
        if covered:
            return sorted(plain, key=lambda d: d.rank)
        reason = f"{_names(loose)} bound nowhere"
        return [Difference("syntax.scope", (loose[0].span,), None, reason), *found]

    def _blamed(self, text: str, found: list[Difference], error: QueryError) -> list[Difference]:
        """Give the database's error to the difference whose repair makes it go away."""
        code = code_of_error(error)
        ranked = sorted(found, key=lambda d: not _named(d, text, error))
        for difference in ranked:
            if difference.edits is None or not self.bench.live:
                continue
            changed = self.texts.applied(text, [difference])
            if changed is not None and self.bench.fails(changed) is None:
                blamed = Difference(code, difference.spans, difference.edits, error.message)
                rest = [d for d in found if d is not difference]
                return [blamed, *rest]
        return [Difference(code, (), None, error.message), *found]

    # ------------------------------------------------------------ confirmation

    def _confirmed(self, text: str, found: list[Difference]) -> list[Fault]:
        """The faults of these differences, confirmed if some way to make their edits does it.

        A hop that goes away takes the places of other edits with it. Where that leads nowhere, what
        goes away goes last.
        """
        faults = self._tried(text, found)
        late = sorted(found, key=lambda difference: difference.removes)
        if late != found and self.bench.live and not all(fault.confirmed for fault in faults):
            again = self._tried(text, late)
            if all(fault.confirmed for fault in again):
                return again
        return faults

    def _tried(self, text: str, found: list[Difference]) -> list[Fault]:
        edits: list[Difference] = []
        for difference in found:
            if (
                difference.edits is not None
                and self.texts.applied(text, [*edits, difference]) is not None
            ):
                edits.append(difference)
        whole = self.texts.applied(text, edits) or text
        right = self.bench.right(whole) if self.bench.live else None
        if right:
            needed = self._needed(text, edits)
            return self._faults(text, needed, needed, True)
        later = self._look_again(whole, edits, text, found)
        if later is not None:
            return later
        if self.bench.live and len(edits) > 1:
            for left_out in edits:
                fewer = [d for d in edits if d is not left_out]
                if self.bench.right(self.texts.applied(text, fewer) or text):
                    needed = self._needed(text, fewer)
                    return self._faults(text, needed, needed, True)
        return self._faults(text, found, edits, False if self.bench.live else None)

    def _look_again(
        self, whole: str, edits: list[Difference], text: str, found: list[Difference]
    ) -> list[Fault] | None:
        """Compare the repaired draft once more: edits may have lain over each other."""
        current, chain = (
            whole,
            [(d, self.texts.applied(text, edits[: i + 1])) for i, d in enumerate(edits)],
        )
        left = [d for d in found if d not in edits]
        for _ in range(_LOOKS):
            if not left and self.bench.right(current) is None:
                return None
            try:
                again = self._differences(self.texts.tree(current))
            except CypherSyntaxError:
                return None
            if isinstance(again, str):
                return None
            usable: list[Difference] = []
            for difference in again:
                if difference.edits is not None and self.texts.applied(
                    current, [*usable, difference]
                ):
                    usable.append(difference)
            if not usable:
                return None
            chain += [
                (_renamed(d, left), self.texts.applied(current, usable[: i + 1]))
                for i, d in enumerate(usable)
            ]
            following = self.texts.applied(current, usable)
            if following is None or following == current:
                return None
            current = following
            if self.bench.right(current) or (not self.bench.live and len(again) == len(usable)):
                confirmed = True if self.bench.live else None
                return [
                    Fault(d.code, family_of(d.code), d.spans, repair, confirmed, d.reason)
                    for d, repair in chain
                ]
        return None

    def _needed(self, text: str, edits: list[Difference]) -> list[Difference]:
        """Leave out what the gold's rows come without: other ways to say the same."""
        needed = list(edits)
        for difference in reversed(edits):
            # What the repair of another removes too cannot be left out alone.
            if len(needed) == 1 or not difference.edits:
                continue
            fewer = [d for d in needed if d is not difference]
            changed = self.texts.applied(text, fewer)
            if changed is not None and self.bench.right(changed):
                needed = fewer
        return needed

    def _faults(
        self,
        text: str,
        found: list[Difference],
        edits: list[Difference],
        confirmed: bool | None,
    ) -> list[Fault]:
        faults = []
        done: list[Difference] = []
        for difference in found:
            repair = None
            if difference in edits:
                done.append(difference)
                repair = self.texts.applied(text, done)
            faults.append(
                Fault(
                    difference.code,
                    family_of(difference.code),
                    difference.spans,
                    repair,
                    confirmed if repair is not None else (None if confirmed is None else False),
                    difference.reason,
                )
            )
        return faults


def _foreign_first(found: list[Difference], foreign: list[Foreign]) -> list[Difference]:
    """Give what is refused to the difference that covers it, or make it a fault of its own."""
    result = list(found)
    own: list[Difference] = []
    for part in foreign:
        covering = next((d for d in result if _touches(d, part.span)), None)
        if covering is None:
            own.append(Difference(part.code, (part.span,), part.edits, part.reason))
            continue
        result.remove(covering)
        reason = f"{part.reason}; {covering.reason}"
        own.append(Difference(part.code, covering.spans, covering.edits, reason))
    return own + result


def _touches(difference: Difference, span: Span) -> bool:
    return any(start < span[1] and span[0] < end for start, end in difference.spans)


def _without(result: Result, columns: list[int]) -> Result:
    kept = [i for i in range(len(result.columns)) if i not in columns]
    rows = tuple(tuple(row[i] for i in kept) for row in result.rows)
    return Result(tuple(result.columns[i] for i in kept), rows, result.truncated)


def _covers(difference: Difference, loose: list[ast.Variable]) -> bool:
    return any(
        start <= variable.span[0] and variable.span[1] <= end
        for start, end in difference.spans
        for variable in loose
    )


def _names(loose: list[ast.Variable]) -> str:
    names = list(dict.fromkeys(variable.name for variable in loose))
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _named(difference: Difference, text: str, error: QueryError) -> bool:
    """Whether the error's message quotes what the difference is about."""
    return any(
        text[start:end].split("(")[0].strip() and text[start:end].split("(")[0] in error.message
        for start, end in difference.spans
    )


def _renamed(difference: Difference, earlier: list[Difference]) -> Difference:
    """What the first look called by a name keeps it when a later look repairs it."""
    for other in earlier:
        if other.code == difference.code or other.reason == difference.reason:
            return Difference(other.code, other.spans, difference.edits, other.reason)
    return Difference(difference.code, (), difference.edits, difference.reason)
