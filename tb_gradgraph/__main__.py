"""``python -m tb_gradgraph``: the command ``tb-gradgraph``."""

import sys

from tb_gradgraph.commands.main import main

sys.exit(main())
