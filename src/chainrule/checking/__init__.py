"""Is a gradient right?  `check_gradients` compares it with finite differences and says.

The verdict tells a bug from a kink, from the edge of a function's domain, and from a
point where floating-point arithmetic cannot decide.  It judges functions of this
package by three methods (reverse mode, forward mode, differences), and anybody's
function and gradient by differences alone.
"""

from __future__ import annotations

from chainrule.checking.check import check_gradients
from chainrule.checking.report import DirectionCheck, GradientReport, InputCheck

__all__ = ["DirectionCheck", "GradientReport", "InputCheck", "check_gradients"]
