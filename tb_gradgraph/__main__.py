"""``python -m tb_gradgraph``: the command ``tb-gradgraph``."""

import sys

from tb_gradgraph.cli import main

sys.exit(main())
