"""Failures: which of them are one, and how that is recognised in the next run. Pure."""

from opsdebug_ci.failures.fingerprint import fingerprint as fingerprint
from opsdebug_ci.failures.fingerprint import fingerprints as fingerprints
from opsdebug_ci.failures.groups import group as group
