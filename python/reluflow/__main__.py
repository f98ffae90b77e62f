"""Run the command line with ``python -m reluflow``."""

from .cli import main

main()
