# SPDX-License-Identifier: Apache-2.0
"""What was seen, for --json: all times are seconds since the lab began, of the system's monotonic clock.

    record = Record(lab, name)
    record.happened("kill", "d2", at=now)
    record.heard(line)                       # of device 0's --events
    json.dump(record.as_json(members, folder), file)

    {"lab":        {"file", "command", "kernel", "groups", "began", "seconds", "status", "clean"},
     "training":   when the first step could begin, or null,
     "devices":    [{"name", "address", "cpu", "rate", "runs": [{"began", "ended", "status", "by"}],
                     "steps": [[step, at], ...], "events": [...], "summary": {...} or null}, ...],
     "happenings": [{"at", "took", "step", "action", "device" or "devices", ..., "skipped"}, ...],
     "steps":      [[step, at, devices], ...] as device 0 applied them,
     "events":     the other lines of device 0's --events, with "at",
     "log":        [{"at", "level", "id", "fields"}, ...] of the run's events.log, to the millisecond,
     "state_bytes": of the last checkpoint, which is what a device that joins is sent,
     "summary":    device 0's own, or null}
"""

import calendar
import json
import os
import platform
import re
import time

LOG_LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3})Z (\w+) (\S+)(.*)")
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')


class Record:
    def __init__(self, lab, name):
        self.lab, self.name = lab, name
        self.began = time.monotonic()
        self._wall = time.time() - time.monotonic()
        self.training = None
        self.step = 0
        self.steps, self.events, self.happenings = [], [], []
        self.about = {}

    def since(self, moment):
        return None if moment is None else round(moment - self.began, 6)

    def happened(self, action, at, took=0.0, skipped=None, **what):
        entry = {"at": self.since(at), "took": round(took, 6), "step": self.step, "action": action, **what}
        if skipped:
            entry["skipped"] = skipped
        self.happenings.append(entry)
        return entry

    def heard(self, line):
        """One line of device 0's events; the event, or None where it is none."""
        try:
            event = json.loads(line)
            event["at"] = self.since(event["at"])
        except (ValueError, KeyError, TypeError):
            return None
        if event["event"] == "step":
            self.step = event["total_step"]
            self.steps.append([self.step, event["at"], event.get("devices", 0)])
        else:
            self.events.append(event)
            if event["event"] == "started" and self.training is None:
                self.training = event["at"]
        return event

    def _told(self, path):
        """A device's own lines: its steps, and the rest."""
        steps, events = [], []
        for line in _lines(path):
            try:
                event = json.loads(line)
                event["at"] = self.since(event["at"])
            except (ValueError, KeyError, TypeError):
                continue  # cut short by a kill
            if event["event"] == "step":
                steps.append([event["total_step"], event["at"]])
            else:
                events.append(event)
        return steps, events

    def _log(self, run):
        found = []
        for line in _lines(os.path.join(run, "events.log")):
            match = LOG_LINE.match(line)
            if not match:
                continue
            day, thousandths, level, name, rest = match.groups()
            wall = calendar.timegm(time.strptime(day, "%Y-%m-%dT%H:%M:%S")) + int(thousandths) / 1000
            fields = {key: value.strip('"') for key, value in FIELD.findall(rest)}
            found.append({"at": self.since(wall - self._wall), "level": level, "id": name, "fields": fields})
        return found

    def as_json(self, members, network, run, status):
        summary = _json(os.path.join(os.path.dirname(run), "summary.json"))
        reports = {report["name"]: report for report in (summary or {}).get("devices", [])}
        devices = []
        for index, member in enumerate(members):
            steps, events = ([], []) if index == 0 else self._told(member.events_path)
            devices.append({
                "name": member.name, "address": network.address(member.name), "cpu": member.cpu,
                "rate": member.link.rate, "steps": steps, "events": events, "summary": reports.get(member.name),
                "runs": [{**each, "began": self.since(each["began"]), "ended": self.since(each["ended"])}
                         for each in member.runs]})
        checkpoint = os.path.join(run, "checkpoints", "last.safetensors")
        return {
            "lab": {"file": self.lab.path, "command": self.lab.command, "kernel": platform.release(),
                    "seconds": self.since(time.monotonic()), "status": status, **self.about},
            "training": self.training, "devices": devices, "happenings": self.happenings, "steps": self.steps,
            "events": self.events, "log": self._log(run),
            "state_bytes": os.path.getsize(checkpoint) if os.path.exists(checkpoint) else None,
            "summary": summary}


def _lines(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None
