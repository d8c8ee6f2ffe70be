"""How Karmada is to understand Volcano's kinds: interpreter customizations with small Lua scripts of our own.

Karmada brings health and status of Volcano Jobs itself; it has nothing for Queues, and keeps nothing that
members write into Jobs.
"""

from __future__ import annotations

from gitops_vg.compiler.labels import metadata
from gitops_vg.objects import Manifest

_RETAIN_JOB = """\
-- Keeps what the member's job controller writes: names of claims it made, and the forwarding mark.
function Retain(desiredObj, observedObj)
  local wanted = desiredObj.spec.volumes
  local found = observedObj.spec.volumes
  if wanted ~= nil and found ~= nil then
    for i = 1, #wanted do
      local name = found[i] and found[i].volumeClaimName
      if name ~= nil and (wanted[i].volumeClaimName == nil or wanted[i].volumeClaimName == '') then
        wanted[i].volumeClaimName = name
      end
    end
  end
  return desiredObj
end
"""

_REFLECT_QUEUE = """\
-- The part of a member's queue that says something outside of it.
function ReflectStatus(observedObj)
  local status = observedObj.status
  if status == nil then
    return nil
  end
  return {
    state = status.state,
    pending = status.pending,
    inqueue = status.inqueue,
    running = status.running,
    completed = status.completed,
    unknown = status.unknown,
    allocated = status.allocated
  }
end
"""

_AGGREGATE_QUEUE = """\
-- Open only when it is open in every member; what counts jobs is added up.
function AggregateStatus(desiredObj, statusItems)
  local counts = { 'pending', 'inqueue', 'running', 'completed', 'unknown' }
  local total = { state = 'Open' }
  if #statusItems == 0 then
    total.state = 'Unknown'
  end
  for i = 1, #statusItems do
    local status = statusItems[i].status
    if status == nil or status.state == nil then
      total.state = 'Unknown'
    else
      if status.state ~= 'Open' and total.state ~= 'Unknown' then
        total.state = status.state
      end
      for j = 1, #counts do
        local name = counts[j]
        if status[name] ~= nil then
          total[name] = (total[name] or 0) + status[name]
        end
      end
    end
  end
  desiredObj.status = desiredObj.status or {}
  for name, value in pairs(total) do
    desiredObj.status[name] = value
  end
  return desiredObj
end
"""


def interpreter_customizations() -> tuple[Manifest, ...]:
    """The customizations for Volcano Job and Queue."""
    return (
        _customization("volcano-job", "batch.volcano.sh/v1alpha1", "Job", {"retention": _RETAIN_JOB}),
        _customization(
            "volcano-queue",
            "scheduling.volcano.sh/v1beta1",
            "Queue",
            {"statusReflection": _REFLECT_QUEUE, "statusAggregation": _AGGREGATE_QUEUE},
        ),
    )


def _customization(name: str, api_version: str, kind: str, scripts: dict[str, str]) -> Manifest:
    return Manifest(
        {
            "apiVersion": "config.karmada.io/v1alpha1",
            "kind": "ResourceInterpreterCustomization",
            "metadata": metadata(f"gitops-vg-{name}"),
            "spec": {
                "target": {"apiVersion": api_version, "kind": kind},
                "customizations": {part: {"luaScript": script} for part, script in scripts.items()},
            },
        },
        origin=f"interpreter of {kind}",
    )
