import sys

from ddtree_tui.cli import main

sys.exit(main())
