# SPDX-License-Identifier: Apache-2.0
"""Random trouble by a seed: moments, wishes and durations are drawn before, and fitted to what is there.

    for turn in faults.draw(lab.chaos, [device.name for device in lab.devices]):
        happening = turn.fit(state_of)      # when step turn.step was applied; None: nothing was possible

`state_of(name)` says what the device is: away, at work, frozen, unplugged, or parted. One and the same seed draws
the same turns; what a turn does depends on which devices are there at that moment, as every real fault does.
"""

import random

from labfile import Happening

# What can befall a device in a state. Whatever freezes, unplugs or parts is undone by `for`.
POSSIBLE = {"away": ["join"], "at work": ["leave", "kill", "freeze", "unplug", "partition"]}


class Turn:
    def __init__(self, step, kinds, devices, spared, lasts):
        self.step, self.kinds, self.devices = step, kinds, devices
        self.spared, self.lasts = spared, lasts

    def fit(self, state_of):
        for kind in self.kinds:
            able = [name for name in self.devices if kind in POSSIBLE.get(state_of(name), [])
                    and (name != self.spared or kind == "partition")]
            if len(able) < (2 if kind == "partition" else 1):
                continue
            happening = Happening(kind, 0)
            happening.step = self.step
            if kind == "partition":
                happening.devices = able[:2]
            else:
                happening.device = able[0]
            if kind in ("freeze", "unplug", "partition"):
                happening.lasts = self.lasts
            return happening
        return None


def draw(chaos, names):
    """One turn an event, in the order of their steps. The first, the coordinator, is only parted from others."""
    source = random.Random(chaos.seed)
    turns = []
    for step in sorted(source.randint(chaos.first, chaos.last) for _ in range(chaos.events)):
        kinds, devices = list(chaos.kinds), list(names)
        source.shuffle(kinds)
        source.shuffle(devices)
        turns.append(Turn(step, kinds, devices, names[0], round(source.uniform(*chaos.lasts), 3)))
    return turns
