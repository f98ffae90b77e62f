"""Run the command line with ``python -m reluflow.cli``."""

from . import main

main()
