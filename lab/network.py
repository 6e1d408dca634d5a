# SPDX-License-Identifier: Apache-2.0
"""The lab's network: a namespace a device, all on one bridge that has a namespace of its own.

    network = Network(name)
    network.make(["d0", "d1"], {"d0": Link(rate=100e6), "d1": Link(rate=100e6)})
    network.set_link("d1", Link(rate=10e6))
    network.plug("d1", False)                # the cable is out: no carrier at either end
    network.partition("d0", "d1", True)      # neither hears of the other, all else goes on
    network.silence("d0", ["d1"], True)      # d1 hears nothing of d0
    network.close()

                 NAME-d0           NAME-hub                    NAME-d1
               eth0 10.214.0.1 ==== port0 -- bridge -- port1 ==== eth0 10.214.0.2
          token bucket ->                <- token bucket ...

Nothing is made in the host's namespace: each pair of interfaces is born in the hub and the device's. A link is
full duplex, with a bucket at each of its ends. Rates are those of Ethernet's wire: a frame of 1,514 bytes takes
1,538 there (preamble, checksum, gap), which the bucket does not see, so it is made that much slower; TCP then
carries 94 Mbit/s over 100 Mbit. Delay and loss need the kernel's netem and are put before the device's bucket.

The bridge learns nothing and floods nothing that is sent to one device: each device's hardware address is
known to it. So what goes to the address of a port behind which is nobody is lost in silence, and counted; two devices
that are told that address of each other are partitioned.
"""

import array
import fcntl
import json
import os
import socket
import struct

import system

SUBNET = "10.214.0."
FRAME, ON_WIRE = 1514, 1538
BURST_SECONDS = 0.002
LEAST_BURST, MOST_BURST = 4_000, 128_000  # bytes
LEAST_QUEUE = 10 * FRAME
NOBODY = "02:6c:62:ff:ff:ff"
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
NETNS = "/run/netns/"


class Link:
    """Rate in bits a second (None: as fast as the machine), delay and queue in seconds, loss 0 to 1."""

    def __init__(self, rate=None, delay=0.0, loss=0.0, queue=0.025):
        self.rate, self.delay, self.loss, self.queue = rate, delay, loss, queue

    def bucket(self):
        """The arguments of tc for its bucket."""
        rate = self.rate * FRAME / ON_WIRE
        burst = min(max(rate / 8 * BURST_SECONDS, LEAST_BURST), MOST_BURST)
        limit = max(rate / 8 * self.queue, LEAST_QUEUE) + burst
        return ["tbf", "rate", "%dbit" % rate, "burst", "%d" % burst, "limit", "%d" % limit]

    def needs_netem(self):
        return self.delay > 0 or self.loss > 0


def address(index):
    return SUBNET + str(index + 1)


def hardware(index):
    return "02:6c:62:00:%02x:%02x" % ((index + 1) >> 8, (index + 1) & 255)


class Network:
    def __init__(self, name):
        self.hub = name + "-hub"
        self._name = name
        self._names = []
        self._hub_socket = None

    def namespace(self, device):
        return "%s-%s" % (self._name, device)

    def address(self, device):
        return address(self._names.index(device))

    def _port(self, device):
        return "port%d" % self._names.index(device)

    def make(self, names, links):
        self._names = list(names)
        self._make_namespace(self.hub)
        self._ip(self.hub, "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0")
        self._ip(self.hub, "link", "set", "bridge", "up")
        self._ip(self.hub, "link", "add", "nobody", "type", "veth", "peer", "name", "nothing")
        self._ip(self.hub, "link", "set", "nothing", "up")
        self._make_port("nobody", NOBODY)
        for index, device in enumerate(names):
            self._make_device(index, device)
            self.set_link(device, links[device])
        with system.within(NETNS + self.hub):
            self._hub_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def _ip(self, namespace, *arguments):
        system.run("ip", "-n", namespace, *arguments)

    def _make_namespace(self, name):
        system.run("ip", "netns", "add", name)
        self._ip(name, "link", "set", "lo", "up")
        with system.within(NETNS + name):
            for which in ("all", "default"):
                path = "/proc/sys/net/ipv6/conf/%s/disable_ipv6" % which
                if os.path.exists(path):
                    with open(path, "w", encoding="ascii") as file:
                        file.write("1")

    def _make_device(self, index, device):
        namespace, port = self.namespace(device), self._port(device)
        self._make_namespace(namespace)
        self._ip(self.hub, "link", "add", port, "type", "veth", "peer", "name", "eth0", "address",
                 hardware(index), "netns", namespace)
        self._ip(namespace, "address", "add", address(index) + "/24", "dev", "eth0")
        self._ip(namespace, "link", "set", "eth0", "up")
        self._make_port(port, hardware(index))

    def _make_port(self, port, behind):
        """Has an interface of the hub carry what goes to one hardware address."""
        self._ip(self.hub, "link", "set", port, "master", "bridge")
        self._ip(self.hub, "link", "set", port, "up")
        system.run("bridge", "-n", self.hub, "link", "set", "dev", port, "flood", "off", "learning", "off",
                   "mcast_flood", "off" if behind == NOBODY else "on", "bcast_flood", "off" if behind == NOBODY else "on")
        system.run("bridge", "-n", self.hub, "fdb", "replace", behind, "dev", port, "master", "static")

    def set_link(self, device, link):
        """Both ends of a device's link, as if it had always been so; what is queued there is lost."""
        for namespace, interface in ((self.namespace(device), "eth0"), (self.hub, self._port(device))):
            tc = ["tc", "-n", namespace, "qdisc"]
            if link.rate is None and not link.needs_netem():
                if "qdisc tbf" in system.run(*tc, "show", "dev", interface):
                    system.run(*tc, "delete", "dev", interface, "root")
                continue
            where = ["dev", interface, "root", "handle", "1:"]
            if link.rate is not None:
                system.run(*tc, "replace", *where, *link.bucket())
                where = ["dev", interface, "parent", "1:1", "handle", "2:"]
            if link.needs_netem() and interface == "eth0":
                system.run(*tc, "replace", *where, "netem", "limit", "10000", "delay", "%dus" %
                           (link.delay * 1e6), "loss", "%.6g%%" % (100 * link.loss))

    def plug(self, device, plugged):
        """Puts the cable in, or takes it out: one system call, so the moment is known."""
        port = self._port(device).encode()
        request = array.array("b", struct.pack("16sh14x", port, 0))
        fcntl.ioctl(self._hub_socket, SIOCGIFFLAGS, request, True)
        flags = struct.unpack("16sh14x", request)[1]
        flags = flags | IFF_UP if plugged else flags & ~IFF_UP
        fcntl.ioctl(self._hub_socket, SIOCSIFFLAGS, struct.pack("16sh14x", port, flags))

    def partition(self, one, other, apart):
        """Parts two devices, or brings them together again."""
        self.silence(one, [other], apart)
        self.silence(other, [one], apart)

    def silence(self, here, others, silent):
        """What one device sends to the others is lost from now on, or no more; what they send is not."""
        commands = ["neighbor replace %s dev eth0 lladdr %s nud %s" % (
            self.address(there), NOBODY if silent else hardware(self._names.index(there)),
            "permanent" if silent else "stale") for there in others]
        system.run("ip", "-n", self.namespace(here), "-batch", "-", given="\n".join(commands) + "\n")

    def lost_frames(self):
        """How many have gone to nobody so far."""
        link = json.loads(system.run("ip", "-n", self.hub, "-json", "-statistics", "link", "show", "dev", "nobody"))[0]
        return link["stats64"]["tx"]["packets"]

    def has_carrier(self, device):
        link = json.loads(system.run("ip", "-n", self.namespace(device), "-json", "link", "show", "dev", "eth0"))[0]
        return "NO-CARRIER" not in link["flags"]

    def close(self):
        if self._hub_socket is not None:
            self._hub_socket.close()
        for name in [self.hub] + [self.namespace(device) for device in self._names]:
            system.works("ip", "netns", "delete", name)


def has_qdisc(kind, *arguments):
    """Does this kernel have it? Tried on the loopback of a namespace made for that."""
    name = "shoal-lab-probe-%d" % os.getpid()
    system.run("ip", "netns", "add", name)
    try:
        return system.works("tc", "-n", name, "qdisc", "add", "dev", "lo", "root", kind, *arguments)
    finally:
        system.works("ip", "netns", "delete", name)
