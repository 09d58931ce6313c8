"""Networks to PyTorch and back, and training there and here side by side.

Example (with PyTorch)::

    from chainrule import Network
    from chainrule.interop.torch import compare, from_module, to_module

    net = Network([2, 4, 1], activation="tanh", output_activation="sigmoid")
    module = to_module(net)           # torch.nn.Sequential with the same weights, float64
    again = from_module(module)       # and back
    print(compare(net, X, y))         # every loss and gradient of 50 epochs, side by side

The page ``docs/when-you-outgrow-this.md`` goes through it.
"""

from __future__ import annotations

from chainrule.interop.comparison import Comparison, ParameterComparison, compare
from chainrule.interop.conversion import from_module, to_module

__all__ = ["Comparison", "ParameterComparison", "compare", "from_module", "to_module"]
