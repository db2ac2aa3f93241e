"""The one exception tree. Each error says what happened, where, and the way out.

::

    CypherForgeError                    exit code 1 unless a branch says otherwise
    ├── UsageError                      2   an option or an input is wrong: the caller can fix it
    │   ├── InputError                      a file: names file, row, column
    │   └── OptionsChanged                  a run folder was started with other options
    ├── EnvironmentFault                3   something outside is missing or refuses
    │   ├── GraphUnavailable                no connection, restart, pool exhausted
    │   ├── GraphAuthError                  wrong user or password
    │   ├── ModelUnavailable                endpoint down, timeout, 5xx after the retries
    │   ├── ModelAuthError                  401, 403
    │   ├── QuotaExhausted                  429 insufficient_quota: stop cleanly, resume later
    │   ├── ReplayMiss                      a request that was never recorded
    │   ├── StorageError                    disk full, no permission
    │   ├── RunLocked                       another process works on this folder
    │   └── MissingExtra                    an optional package is not installed
    ├── CypherSyntaxError                   (cypher) text that is not Cypher
    ├── QueryError                          one query failed on the database
    │   ├── QuerySyntaxError                the database refuses to plan it
    │   ├── QueryRuntimeError               it failed while running
    │   ├── QueryTimeout                    it passed its time limit and was stopped
    │   ├── QueryRefused                    a write, or a thing policy forbids
    │   └── NotSupported                    the engine cannot do it, and says so
    ├── ModelAnswerError                    the endpoint answered, but not with a usable answer
    │   └── PromptTooLong                   one prompt passes the window: both numbers if known
    ├── BudgetExhausted                     the budget is spent: stop cleanly, resumable
    └── ArtifactError                       an artifact or bundle cannot be used
        ├── Tampered                        its digest does not fit its content
        └── NewerFormat                     written by a newer version, by name
"""

from __future__ import annotations


class CypherForgeError(Exception):
    """Root of every error the library raises on purpose.

    ``message`` says what happened, ``where`` the place (file:row, URL, query), ``hint`` the way out.
    """

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} ({self.hint})" if self.hint else text

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders (executors); keyword-only arguments would be lost.
        return _rebuild, (type(self), self.message, self.__dict__)


def _rebuild(kind: type[CypherForgeError], message: str, state: dict[str, object]) -> object:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class UsageError(CypherForgeError):
    """An option or an input is wrong; the caller can fix it."""

    exit_code = 2


class InputError(UsageError):
    """A file cannot be read as what it should be."""


class OptionsChanged(UsageError):
    """A run folder was started with other options; names those that differ."""


class EnvironmentFault(CypherForgeError):
    """Something outside the program is missing or refuses."""

    exit_code = 3


class GraphUnavailable(EnvironmentFault):
    """The database cannot be reached, restarted in mid-query, or has no free connection."""


class GraphAuthError(EnvironmentFault):
    """The database refuses the user or password."""


class ModelUnavailable(EnvironmentFault):
    """The model endpoint is down, too slow, or failed after all retries."""


class ModelAuthError(EnvironmentFault):
    """The model endpoint refuses the key."""


class QuotaExhausted(EnvironmentFault):
    """The account's quota is used up: retrying does not help."""


class ReplayMiss(EnvironmentFault):
    """A recorded model was asked something that was never recorded."""


class StorageError(EnvironmentFault):
    """The disk is full or a file cannot be written."""


class RunLocked(EnvironmentFault):
    """Another process works on this folder."""


class MissingExtra(EnvironmentFault):
    """An optional package is not installed; the hint gives the command."""


class QueryError(CypherForgeError):
    """One query failed on the database; ``code`` is the engine's own, where it has one."""

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.code = code


class QuerySyntaxError(QueryError):
    """The database refuses to plan the query."""


class QueryRuntimeError(QueryError):
    """The query failed while it ran."""


class QueryTimeout(QueryError):
    """The query passed its time limit and was stopped."""


class QueryRefused(QueryError):
    """A write in a read-only session, or something policy forbids."""

    exit_code = 4


class NotSupported(QueryError):
    """The engine cannot do this, and would answer wrongly if it tried."""


class ModelAnswerError(CypherForgeError):
    """The endpoint answered, but with nothing that can be used."""


class PromptTooLong(ModelAnswerError):
    """One prompt does not fit the model's window."""


class BudgetExhausted(CypherForgeError):
    """The budget of calls, tokens or money is spent; what was done is kept."""


class ArtifactError(CypherForgeError):
    """An artifact or a bundle cannot be used."""


class Tampered(ArtifactError):
    """The content does not fit its digest."""


class NewerFormat(ArtifactError):
    """Written by a newer version of the format, which it names."""
