"""Failures: which of them are one, and how that is recognised in the next run. Pure."""

from opsdebug_ci.failures.fingerprint import fingerprint as fingerprint
from opsdebug_ci.failures.fingerprint import identity as identity
from opsdebug_ci.failures.fingerprint import same_cause as same_cause
from opsdebug_ci.failures.groups import fingerprints as fingerprints
from opsdebug_ci.failures.groups import group as group
