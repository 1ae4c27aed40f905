"""Verifies the API keys of Keyrail in memory, charges their limits, and counts their requests."""

from .errors import KeyrailError, PolicyScopeTooLargeError
from .keyring import Keyring
from .limits.verdict import LimitVerdict
from .protect.gate import Admission, Gate
from .protect.problem import Problem
from .verdict import REFUSALS, Verdict
from .world import VERSION as __version__

__all__ = [
    "Admission",
    "Gate",
    "Keyring",
    "KeyrailError",
    "LimitVerdict",
    "PolicyScopeTooLargeError",
    "Problem",
    "REFUSALS",
    "Verdict",
    "__version__",
]
