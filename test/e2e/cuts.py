# SPDX-License-Identifier: Apache-2.0
"""Partitions drawn from a source of random numbers, carried out, and undone when their time is over.

    cuts = Cuts(6)                        # six places, each with a network of its own; the first is the coordinator's
    cuts.argv(2, "shoal", "join", ...)    # a process there
    cut = draw(random, {1, 2, 5})         # between the coordinator and these places
    cuts.begin(cut)
    for cut in cuts.heal(now): ...        # those that are over; cut.happened: something was lost by it
    cuts.close()

The networks are the lab's (lab/network.py): what is cut off is lost in silence, as by a switch that fails. Cuts may
overlap. Whatever becomes of this process, its namespaces and what runs in them are removed (lab/janitor.py).
"""

import collections
import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "lab"))

import janitor
import network
import system

LEAST_SECONDS, MOST_SECONDS = 0.05, 4.0


def missing():
    """Why there can be no networks here; None where there can."""
    try:
        system.need_root()
    except system.Trouble as trouble:
        return "networks of their own: %s" % trouble
    return None


class Cut:
    """`silent`: pairs (who is not heard, by whom). `cable`: the place whose cable is out, or None."""

    def __init__(self, kind, seconds, silent=(), cable=None):
        self.kind, self.seconds, self.silent, self.cable = kind, seconds, sorted(silent), cable
        self.until, self.happened = None, False

    def touches(self):
        """The places that it may disturb."""
        return {place for pair in self.silent for place in pair} | ({self.cable} if self.cable is not None else set())


def both_ways(some, others):
    return [(a, b) for a in some for b in others] + [(b, a) for a in some for b in others]


def draw(source, guests):
    """A cut between place 0 and the guests', of whom there is one at least."""
    guests = sorted(guests)
    seconds = LEAST_SECONDS * (MOST_SECONDS / LEAST_SECONDS) ** source.random()
    kinds = ["cable", "sides", "one way"] + (["neighbours"] * 2 if len(guests) > 1 else [])
    kind = source.choice(kinds)
    some = source.sample(guests, source.randint(1, len(guests)))
    if kind == "cable":
        return Cut(kind, seconds, cable=some[0])
    if kind == "neighbours":  # the coordinator hears both
        at = source.randrange(len(guests))
        return Cut(kind, seconds, both_ways([guests[at]], [guests[at - 1]]))
    others = [place for place in [0, *guests] if place not in some]
    if kind == "sides":
        return Cut(kind, seconds, both_ways(some, others))
    return Cut(kind, seconds, [(a, b) for a in some for b in others] if source.random() < 0.5 else
               [(b, a) for a in some for b in others])


class Cuts:
    def __init__(self, places):
        self.names = ["d%d" % place for place in range(places)]
        name = janitor.own_name()
        self._janitor = janitor.Janitor(name, [])
        self.network = network.Network(name)
        self._now = []
        self._silent, self._unplugged = collections.Counter(), collections.Counter()
        self.network.make(self.names, {each: network.Link() for each in self.names})

    def address(self, place):
        return self.network.address(self.names[place])

    def argv(self, place, *argv):
        return ["ip", "netns", "exec", self.network.namespace(self.names[place]), *argv]

    def is_cut_off(self, place):
        """Whether it and the coordinator do not hear each other."""
        return bool(self._unplugged[place] or self._silent[place, 0] or self._silent[0, place])

    def set_rate(self, place, rate):
        """Lets the link of a place carry so many bits a second (None: as many as there are); false: it cannot be."""
        try:
            self.network.set_link(self.names[place], network.Link(rate))
        except system.Trouble:
            return False
        return True

    def begin(self, cut):
        cut.lost_before = self.network.lost_frames()
        self._change(cut, 1)
        cut.until = time.monotonic() + cut.seconds
        if cut.cable is not None:
            cut.happened = not self.network.has_carrier(self.names[cut.cable])
        self._now.append(cut)

    def heal(self, now):
        """Undoes what is over; the list of it."""
        over = [cut for cut in self._now if cut.until <= now]
        self._now = [cut for cut in self._now if cut.until > now]
        for cut in over:
            self._change(cut, -1)
            cut.happened = cut.happened or self.network.lost_frames() > cut.lost_before
        return over

    def _change(self, cut, by):
        if cut.cable is not None:
            self._unplugged[cut.cable] += by
            self.network.plug(self.names[cut.cable], not self._unplugged[cut.cable])
        for here in sorted({pair[0] for pair in cut.silent}):
            others = [there for sender, there in cut.silent if sender == here]
            for there in others:
                self._silent[here, there] += by
            changed = [there for there in others if self._silent[here, there] == (1 if by > 0 else 0)]
            if changed:
                self.network.silence(self.names[here], [self.names[there] for there in changed], by > 0)

    def close(self):
        """True where nothing is left."""
        self.network.close()
        return self._janitor.finish()
