"""Why does a network not learn?  `diagnose` looks into its layers and names what is wrong."""

from __future__ import annotations

from chainrule.diagnosis.decay import gradient_decay
from chainrule.diagnosis.doctor import diagnose
from chainrule.diagnosis.report import Diagnosis, Finding, LayerReport

__all__ = ["Diagnosis", "Finding", "LayerReport", "diagnose", "gradient_decay"]
