"""The operator that both arms of a comparison share, by name and place."""

SHARED_PROBE = "opsdebug_shared_probe"
"""Its name; no operator of a user's is likely to have it."""

SHARED_PROBE_MODULE = "opsdebug_ci.catalogue.shared_probe"
"""Module it is found in."""
