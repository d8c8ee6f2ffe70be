"""The behaviours of Karmada v1.18 and of Volcano members, as controllers in the event loop of the sandbox.

`install` puts them on a sandbox; each module is one part of the real thing, named after it.
"""

from gitops_vg.sandbox.karmada.install import Controllers, Settings, install
from gitops_vg.sandbox.karmada.members import Member

__all__ = ["Controllers", "Member", "Settings", "install"]
