"""Every error the project raises on purpose, in one tree.

Each class has a stable `code`, which is also its heading in docs/errors.md, and an `exit_code` from the table in
the documentation. A message says what was got, what was wanted, where, and what to do next.
"""

from __future__ import annotations

from typing import ClassVar


class OpsdebugError(Exception):
    """Base of every deliberate error."""

    code: ClassVar[str] = "opsdebug"
    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message}\n  next: {self.next_step}" if self.next_step else self.message

    @property
    def one_line(self) -> str:
        """What is wrong, and what to do behind it."""
        return f"{self.message}; next: {self.next_step}" if self.next_step else self.message


class UsageError(OpsdebugError):
    """The person asked for something that cannot be: wrong option, unknown operator."""

    code = "usage"
    exit_code = 2


class ConfigurationError(OpsdebugError):
    """The configuration or an operator declaration is wrong; lists every problem at once."""

    code = "configuration"
    exit_code = 2


class DeclarationError(ConfigurationError):
    """An `Operator`, `tensor` or `Contract` was declared in a contradictory way."""

    code = "declaration"


class DiscoveryError(ConfigurationError):
    """A configured module is missing or fails to import."""

    code = "discovery"


class EnvironmentLimitError(OpsdebugError):
    """This machine cannot do it: no torch in the chosen interpreter, no such device, no compiler."""

    code = "environment"
    exit_code = 3


class StoreError(OpsdebugError):
    """The baseline store cannot be read or written."""

    code = "store"
    exit_code = 3


class StoreFormatError(StoreError):
    """The store was written by a newer format version, or is not a store."""

    code = "store-format"
    exit_code = 2


class StoreUnreachableError(StoreError):
    """The store lies elsewhere, and there is no way to it at the moment."""

    code = "store-unreachable"


class DamagedFileError(StoreError):
    """A file of the store is not what was recorded of it, or not what it is named."""

    code = "store-damaged"


class QueryError(UsageError):
    """The SQL query is wrong, or asks for something the store does not allow."""

    code = "query"


class ShapeMismatchError(OpsdebugError):
    """Two tensors that must agree in shape do not."""

    code = "shape-mismatch"


class InputsError(OpsdebugError):
    """The operator's inputs could not be made: its callable raised, or returned something unusable."""

    code = "inputs"
    exit_code = 4


class BundleError(OpsdebugError):
    """A file is no bundle, or none that is taken: damaged, hostile, or of a newer version."""

    code = "bundle"
    exit_code = 2


class ReferenceFaultError(OpsdebugError):
    """A reference raised, or answered with another structure than the operator."""

    code = "reference"
    exit_code = 4


class WorkerError(OpsdebugError):
    """The worker process broke its protocol or could not start."""

    code = "worker"
    exit_code = 3


class GithubError(OpsdebugError):
    """GitHub did not do what it was asked to."""

    code = "github"
    exit_code = 3


class GithubRefusedError(GithubError):
    """GitHub answered that it will not: no permission, no such thing, a request it does not take."""

    code = "github-refused"

    def __init__(self, message: str, *, status: int, next_step: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.status = status


class GithubUnreachableError(GithubError):
    """GitHub could not be reached, or asked to wait longer than a job may."""

    code = "github-unreachable"


class GithubAmbiguousError(GithubUnreachableError):
    """A request was sent once, and nobody can tell from the answer whether it was obeyed."""

    code = "github-ambiguous"


class GithubAnswerError(GithubError):
    """What came back is not what GitHub's description promises, or more than is read."""

    code = "github-answer"


class ArtifactError(OpsdebugError):
    """A file that a job uploaded is not taken: damaged, hostile, or not what it must be."""

    code = "artifact"
    exit_code = 2


class InternalError(OpsdebugError):
    """A broken invariant of ours."""

    code = "internal"

    def __str__(self) -> str:
        return f"internal error: {super().__str__()}"


class Unsupported(Exception):  # noqa: N818 - the word users write in their operators
    """Raised by an operator, or by `requires`, for a case outside its domain: the case is skipped, never an alarm."""
