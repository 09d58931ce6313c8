"""The compiler: finds the matrix program in scalar code, prints it and runs it.

The stages, each from one plain data structure to the next: `trace` (what does the
function do), `lower` (which statements over vectors is that), `rules` (their
derivatives), and a back end that writes them (`backend_numpy`, `backend_numba`) or
carries them out (`backend_python`).
"""

from __future__ import annotations

from chainrule.compiler.compiled import Compiled, Report, compile

__all__ = ["Compiled", "Report", "compile"]
