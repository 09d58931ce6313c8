"""``python -m chainrule`` is the command ``chainrule``."""

import sys

from chainrule.cli import main

sys.exit(main())
