"""`python -m opsdebug_ci`."""

from opsdebug_ci.cli import main

main()
