# SPDX-License-Identifier: Apache-2.0
"""Writes what the fuzz targets begin with: FOLDER/<noun>/<seed>, small, well-formed or nearly so.

    python3 fuzz/seeds.py build/fuzz/seeds

Formats are built here from their description (the headers named below), not by the code that is tested.
"""

import base64
import hashlib
import io
import json
import struct
import sys
import zipfile
import zlib
from pathlib import Path


def frames():
    """net/frame.h, after a byte that says in how large pieces it comes."""
    def frame(kind, body, view=0, step=0, bucket=0, hop=0):
        return struct.pack("<IHHIIHHI", len(body), kind, bucket, view, step, hop, 0, 0) + body
    control = frame(1, b"hello")
    segment = frame(3, struct.pack("<8i", *range(8)), view=1, step=7, bucket=2, hop=1)
    trailer = frame(3, struct.pack("<4Q", *range(4)), view=1, step=7, hop=2)
    state = frame(2, bytes(range(40)), bucket=1)
    yield "control", b"\xff" + control
    yield "stream", b"\x04" + control + segment + trailer + frame(2, b"") + state
    yield "unknown", b"\xff" + frame(9, b"?")


def hand_overs():
    """train/transfer.h: two donors of the small replica of replica_receiver_fuzz.c, after a byte that says which."""
    def frame(stream, kind, body, step=0, phase=1, chunk=0, array=0):
        return bytes([stream]) + struct.pack("<IHHIIHHI", len(body), kind, chunk, 7, step, array, phase, 0) + body
    def tail(stream, passed, before, after, clip=1.0, samples=0):
        body = struct.pack("<IIQQIIddQQ", passed, 3, before[0], after[0], before[1], after[1], clip, 0.5, samples, 0)
        return frame(stream, 5, body + struct.pack("<3f3i", 1, 1, 0, 23, 23, 40), *before)
    def state(stream, step, phase, chunk, elements, arrays=3):
        body = struct.pack("<%df" % elements, *[0.5] * elements)
        return b"".join(frame(stream, 2, body, step, phase, chunk, array) for array in range(arrays))
    def total(stream, step, phase, chunk, elements):
        return frame(stream, 4, struct.pack("<%di" % elements, *range(elements)), step, phase, chunk)
    begin = tail(0, 1, (2, 1), (2, 1)) + tail(1, 1, (2, 1), (2, 1))
    first = state(0, 2, 1, 0, 3, 1) + state(0, 2, 1, 1, 7) + state(0, 2, 1, 2, 7)
    other = state(1, 2, 1, 3, 6)
    sums = total(0, 2, 1, 2, 7) + total(0, 2, 1, 1, 7)
    redo = tail(0, 3, (2, 1), (2, 2)) + total(0, 2, 2, 1, 7) + total(0, 2, 2, 2, 7)
    yield "still", begin + first + other
    yield "follow", (begin + first + sums + redo + tail(0, 2, (2, 2), (3, 0), 0.25, 8) + tail(0, 4, (3, 0), (3, 1), 1.0, 8) +
                     tail(1, 5, (2, 1), (2, 1)) + other + total(1, 2, 1, 3, 6) + tail(1, 2, (2, 1), (3, 1), 1.0, 8))
    yield "early", begin + tail(1, 2, (2, 1), (3, 1), 1.0, 8) + state(1, 3, 1, 3, 6) + sums


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def block(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def real(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def messages():
    """net/message.proto: each body once."""
    def message(field, body, job=5):
        return number(1, 9) + number(2, job) + block(field, body)
    position = number(1, 1000) + number(2, 1)
    notice = (number(1, 77) + number(2, 2) + number(4, 1) + block(5, position) + number(6, 8) +
              number(7, (1 << 64) - 1) + real(8, 42.5) + number(9, 3) + number(10, 2) +
              block(11, number(2, 3)) + block(11, number(1, 5) + number(2, 1)) + number(12, 3) +
              number(13, 1) + number(14, 2) + number(16, 4) + number(18, 3) + number(19, 4) +
              number(20, 64) + double(21, 1.5) + number(22, 1 << 25) + number(23, 99) +
              number(24, 98))
    seats = b"".join(block(7, number(1, i) + number(2, i == 0) + number(3, 3 * i) + number(4, 3))
                     for i in range(3))
    donors = b"".join(block(3, number(1, i) + block(2, "10.0.0.%d" % (i + 1)) + number(3, 7700 + i) +
                            block(4, b"d" * 32)) for i in range(2))
    transfer = number(1, 9) + number(2, 2) + donors + number(4, 1) + block(5, position)
    order = (number(1, 78) + number(3, 3) + number(4, 4) + number(5, 4) + number(6, 1) + seats +
             block(8, position) + number(9, 1) + block(10, number(2, 2)) + block(11, transfer) +
             number(17, 1) +
             block(18, number(3, 1) + block(4, "10.0.0.1") + number(5, 7701) + block(6, b"k" * 32)) +
             block(18, number(1, 1) + number(2, 1) + block(6, b"l" * 32)))
    yield "hello", message(10, block(1, "0.1.0") + block(2, "pi") + number(3, 4) + number(4, 7701) +
                           number(5, 1), job=0)
    source = number(1, 2) + block(2, "10.0.0.2") + number(3, 7701) + block(4, b"s" * 32)
    yield "welcome", message(11, number(1, 1) + block(2, json.dumps(JOB)) + block(3, "f" * 64) + block(4, b"d" * 32) +
                             block(5, source))
    yield "survey", message(27, b"")
    yield "roster", message(28, block(1, "lenet") + block(2, "digits") + number(3, 64) + number(4, 16) + number(5, 7)
                            + block(6, block(1, "vm") + number(2, 3) + number(3, 4) + number(4, 8)))
    yield "refuse", message(12, block(1, "the job has 256 devices"))
    yield "ready", message(13, block(1, "0" * 64) + block(2, "f" * 64) + number(3, 1))
    yield "notice", message(14, notice)
    yield "order", message(15, order)
    yield "halt", message(15, number(1, 79) + number(3, 1) + number(4, 5) + number(5, 5) + block(8, b""))
    yield "fail", message(16, block(1, "the disk is full"))
    sample = number(1, 10**12) + number(2, 3) + block(3, struct.pack("<2d", 0.5, 1e6))
    times = (number(1, 7) + number(2, 10**12) + number(3, 4) + number(4, 32) + number(5, 1) +
             number(6, 4000000) + block(7, b"".join(varint(v) for v in range(100000, 100007))))
    yield "figures", message(18, number(1, 10**12) + number(2, 1) + block(3, sample) + block(4, times))
    signature = block(1, b"p" * 32) + block(2, b"r" * 32) + block(3, b"s" * 32)
    yield "proof", message(19, block(1, signature) + block(2, signature) + number(3, 1) + number(4, 9))
    yield "whereabouts", message(20, number(1, 1) + number(4, 20) + block(5, b"10.0.0.1") + number(6, 7700))
    yield "heirs", message(21, number(1, 3) + block(2, number(1, 1) + block(2, b"10.0.0.2") + number(3, 7700)))
    yield "beat", message(22, number(1, 9))
    yield "moved", message(23, number(1, 2) + block(2, b"10.0.0.2") + number(3, 7700))
    yield "probe", message(24, number(1, 3) + number(2, 2048) + block(3, bytes(64)))
    yield "echo", message(25, number(1, 3) + block(2, bytes(2048)))
    yield "rest", message(26, block(1, "its link of 1 Mbit/s would carry 0.9 MB a step"))
    yield "end", message(17, number(1, 16) + block(2, "device pi was lost"))


def tokens():
    """net/token.h."""
    def token(host_port, told=bytes(range(32))):  # the secret and the fingerprint
        check = hashlib.sha256(host_port.encode() + told).digest()[:4]
        text = base64.urlsafe_b64encode(told + check).decode()
        return ("shoal://%s/%s" % (host_port, text)).encode()
    yield "address", token("192.168.1.20:7700")
    yield "name", token("pi.local:1")
    yield "ipv6", b" " + token("[fe80::1%eth0]:65535") + b"\n"
    yield "altered", token("192.168.1.20:7700").replace(b"20", b"21")


def idx():
    """data/mnist.c: the first byte is where the images end and the labels begin."""
    def pair(images, labels):
        return bytes([len(images)]) + images + labels
    images = struct.pack(">IIII", 0x803, 2, 3, 4) + bytes(range(24))
    labels = struct.pack(">II", 0x801, 2) + b"\x01\x09"
    yield "pair", pair(images, labels)
    yield "short", pair(images[:-1], labels)
    yield "large", pair(struct.pack(">IIII", 0x803, 1 << 31, 4096, 4096), labels)


def cifar():
    """data/cifar.c, after a byte for the kind and one for how many times 16 zeros follow."""
    image = bytes(i % 251 for i in range(3072))
    yield "ten", b"\0\0" + b"\x09" + image + b"\0" + image
    yield "hundred", b"\1\0" + b"\x13\x63" + image
    yield "label", b"\0\0" + b"\x0a" + image
    yield "short", b"\0\0" + b"\x01" + image[:-1]
    yield "other", b"\0\0" + b"\x01\x01" + image
    yield "zeros", b"\0\xc0\1"


def augment():
    """data/augment.h."""
    for number, text in enumerate((b"crop,flip", b"flip,crop:7", b"crop:65", b"flip,flip", b"turn,", b"resized-crop:0.25,flip",
                                   b"vflip,rotate:30,trivial,jitter:0.4/0.4/0.4/0.1,erase",
                                   b"shift:3,scale:0.1,noise:0.5,mask:2/4", b"mixup:0.2,cutmix:1")):
        yield str(number), text


def manifests():
    """data/manifest.h."""
    def manifest(kind, shape, counts, places, files, digests, version=2, block=4096, target=1):
        head = b"shoalman" + struct.pack("<II", version, block) + kind.ljust(16, b"\0") + b"0f" * 32
        head += struct.pack("<8I8f", *shape[:3], 0, 0, shape[3], *counts, *[0.5] * 8)
        head += b"".join(struct.pack("<IQQ", *place) for place in places)
        head += struct.pack("<II", target, len(files))
        return head + b"".join(name.ljust(48, b"\0") + struct.pack("<Q", count) for name, count in files) + digests
    idx = ([(0, 16, 784), (1, 8, 1), (2, 16, 784), (3, 8, 1)],
           [(b"images", 16 + 7840), (b"labels", 18), (b"others", 16 + 3920), (b"their", 13)])
    yield "idx", manifest(b"mnist", (1, 28, 28, 10), (10, 5), *idx, bytes(32 * 5))
    yield "newer", manifest(b"mnist", (1, 28, 28, 10), (10, 5), *idx, bytes(32 * 5), version=3)
    yield "short", manifest(b"mnist", (1, 28, 28, 10), (10, 5), *idx, bytes(32 * 5 - 1))
    records = [(0, 1, 3073), (0, 0, 3073), (1, 1, 3073), (1, 0, 3073)]
    yield "records", manifest(b"cifar10", (3, 32, 32, 10), (2, 1), records,
                              [(b"training.bin", 6146), (b"validation.bin", 3073)], bytes(32 * 3))
    yield "large", manifest(b"mnist", (1, 28, 28, 10), (1 << 31, 5), *idx, bytes(32 * 5))


def safetensors():
    """store/safetensors.h."""
    def file(header, data):
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + data
    header = {"__metadata__": {"shoal.format": "1", "note": "h\u00e9"},
              "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
              "b": {"dtype": "I64", "shape": [], "data_offsets": [24, 32]},
              "c": {"dtype": "U8", "shape": [0, 2], "data_offsets": [32, 32]}}
    yield "plain", file(header, bytes(32))
    yield "hole", file({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, bytes(8))
    summed = file({"__metadata__": {"shoal.sha256": "0" * 64}}, b"")
    digits = hashlib.sha256(summed).hexdigest().encode()
    yield "summed", summed.replace(b"0" * 64, digits)


def studies():
    """sweep/study_file.h."""
    yield "blocks", (b"name: n\nlab: ../lab\nall: {data: digits, seed: [1, 2], lr: 1e-2}\nblocks:\n- name: a\n  model: lenet\n"
                     b"  devices: [1..3, 8]\n  seed: null\n  exclude: [{devices: [2, 8]}]\n- {model: x, cpu: 0.2, link: 1Mbit}\n")
    yield "wrong", b"blocks: [{modle: x, delay: 5, nesterov: true, model: &a [b, *a], data: 'd'}]\n"


# Every key of a job (include/shoal/options.def).
JOB = {"model": "lenet", "data": "digits", "seed": 1, "batch_size": 64, "grain": 16, "epochs": 2, "steps": 0, "lr": 0.01,
       "momentum": 0.9, "weight_decay": 0.0, "wire": 32, "optimizer": "sgd", "nesterov": 0, "beta1": 0.9, "beta2": 0.999,
       "alpha": 0.99, "epsilon": 1e-8, "schedule": "constant", "warmup": 0.0, "clip_norm": 0.0, "label_smoothing": 0.0,
       "resize": 0, "augment": "", "normalize": "dataset", "freeze": "", "pretrained": "", "strategy": "sync",
       "workers": 0, "outer_lr": 1.0, "outer_momentum": 0.0}


def jobs():
    """A job within a checkpoint or a welcome (train/job_json.h)."""
    yield "job", json.dumps(JOB).encode()
    yield "negative", json.dumps({**JOB, "grain": -1}).encode()
    yield "long", json.dumps({**JOB, "model": "m" * 200}).encode()
    yield "unknown", json.dumps({**JOB, "modle": "m"}).encode()


def rates():
    """train/rate.h, after a byte of warm-up and one of steps."""
    for number, text in enumerate(("constant", "step:2,0.1", "multistep:1/3/4,5e-1", "exponential:0.9,3",
                                   "cosine:0.01", "one-cycle:0.3,25,1e4", "step:0", "cosine:0.1,")):
        yield str(number), bytes([8 * number, 40 + number]) + text.encode()


def inventories():
    """Devices on paper (plan/inventory.h)."""
    for number, text in enumerate(("this", "8x pi4@100Mbit", "this@1gbit, 2x12.5gflops@500kbit,pi5", "256xpi5@0.5gbit",
                                   "pi4@", "0xpi4", "4x pi5@1gbit/11w,9gflops/0.5w", "pi4/w", "1e9gflops", ",", "2x2x pi4@1mbit@1mbit")):
        yield str(number), text.encode()


def device_lists():
    """Devices of a job (plan/device_list.h)."""
    numbers = ("samples_per_second", "flops_per_second", "in_bytes_per_second", "out_bytes_per_second", "delay_seconds",
               "memory_available_bytes", "temperature_celsius", "power_watts", "battery_ratio", "throttled_ratio")
    first = {"name": "vm", "state": "computes", "lanes": 4, "grains": 3, "why": "",
             **{name: 1.5 + i for i, name in enumerate(numbers)}}
    second = {"name": "attic", "state": "standby", "why": "its link is slow", **{name: None for name in numbers}}
    job = {"model": "lenet", "data": "digits", "batch_size": 64, "grain": 16, "steps": 7}
    every = {"format": "shoal.devices", "version": 1, "job": job, "devices": [first, second]}
    yield "job", json.dumps(every).encode()
    yield "one", json.dumps({**every, "job": None, "devices": [{"name": "a"}]}).encode()
    yield "newer", json.dumps({**every, "version": 2}).encode()


def devices():
    """A device's figures (plan/device_file.h)."""
    rates = {name: [1e9, 2e9] for name in ("matrix", "convolution", "copy", "triad")}
    operations = [["conv2d", "%016x" % 255, size, 1e6 * size, 1e3 * size, 1e-4 * size, 1] for size in (4, 16)]
    device = {"format": "shoal.device", "version": 2, "variant": "avx2", "lanes": 4, "rates": rates,
              "operations": operations + [["step", "0" * 16, 1, 0, 0, 1e-5, 3]]}
    yield "device", json.dumps(device).encode()
    yield "twice", json.dumps({**device, "operations": operations[:1] * 2}).encode()
    yield "newer", json.dumps({**device, "version": 2}).encode()


def hierarchies():
    """mountinfo and cgroup of proc (monitor/cgroup.h)."""
    first = b"33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:7 - cgroup cgroup rw,cpu,cpuacct\n"
    second = b"30 20 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    yield "first", first + b"\0" b"3:cpu,cpuacct:/lab/d1\n0::/\n"
    yield "second", second + b"\0" b"0::/user.slice/a.scope\n"
    yield "container", first.replace(b" / ", b" /docker/x ", 1) + second + b"\0" b"3:cpu:/docker/x/y\n0::/../z\n"


def interfaces():
    """net/dev and status of proc (monitor/interfaces.h, monitor/numbers.h)."""
    headings = b"Inter-|   Receive  |  Transmit\n face |bytes    packets|bytes    packets\n"
    loopback = b"    lo: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0\n"
    yield "two", headings + loopback + b"  eth0:123 9 0 0 0 0 0 0 456 8 0 0 0 0 0 0\n"
    yield "loopback", headings + loopback
    yield "status", b"Name:\tshoal\nVmHWM:\t   30000 kB\nVmRSS:\t   29000.5 kB\n"


def array(dictionary, numbers, version=1):
    head = dictionary.encode()
    return b"\x93NUMPY" + struct.pack("<BBH" if version == 1 else "<BBI", version, 0, len(head)) + head + numbers


def arrays():
    """data/array/npy.h."""
    form = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n"
    yield "floats", array(form % ("<f4", False, "(2, 3)"), struct.pack("<6f", *range(6)))
    yield "bytes", array(form % ("|u1", False, "(4,)"), b"1234", 2)
    yield "objects", array(form % ("|O", True, "()"), b"", 3)


def archives():
    """data/array/zip.h, as numpy.savez and numpy.savez_compressed write it."""
    content = next(arrays())[1]
    for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            archive.writestr("y.npy", b"")
            archive.writestr("x.npy", content)
        yield name, file.getvalue()
def photos():
    """Image files of 2 x 2 pixels, after a byte that says how they are fitted; JPEG and WebP are a head alone."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    def png(depth, colour, rows, interlace=0, extra=b""):
        head = struct.pack(">IIBBBBB", 2, 2, depth, colour, 0, 0, interlace)
        return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(rows)) +
                chunk(b"IEND", b""))
    exif = struct.pack("<2sHIHHHIHHI", b"II", 42, 8, 1, 0x112, 3, 1, 6, 0, 0)
    yield "exif", b"\x03" + exif
    yield "png", b"\x03" + png(8, 2, b"\0abcdef\1ghijkl", extra=chunk(b"eXIf", exif))
    yield "png_grey", b"\x13" + png(16, 4, b"\0abcdefgh\2ijklmnop")
    palette = chunk(b"PLTE", b"abcdef") + chunk(b"tRNS", b"\x10")
    yield "png_palette", b"\x23" + png(1, 3, b"\0\x80\0\x40", extra=palette)
    yield "png_interlaced", b"\x07" + png(8, 0, b"\0a\0b\0cd", 1)
    yield "ppm", b"\x02P6 # x\n2 2 255\nabcdefghijkl"
    yield "pgm", b"\x02P2\n2 2\n9\n1 2 3 9\n"
    bits = struct.pack("<IHHI", 70, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 2, -2, 1, 24, 0, 16, 0, 0, 0, 0)
    yield "bmp", b"\x02BM" + bits + b"abcdef\0\0ghijkl\0\0"
    app = b"Exif\0\0" + exif
    tables = b"\xff\xdb\x00\x43\x00" + bytes([1] * 64)
    codes = b"\xff\xc4\x00\x14\x00\x01" + bytes(15) + b"\x00" + b"\xff\xc4\x00\x14\x10\x01" + bytes(15) + b"\x00"
    frame = b"\xff\xc0\x00\x0b\x08\x00\x02\x00\x02\x01\x01\x11\x00"
    yield "jpeg", (b"\x03\xff\xd8\xff\xe1" + struct.pack(">H", len(app) + 2) + app + tables + codes + frame +
                   b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\x3f\xff\xd9")
    yield "webp", b"\x03RIFF\x12\0\0\0WEBPVP8L\x06\0\0\0\x2f\x01\x40\0\0\0"
def photo_labels():
    """data/photos/photo_labels.h, after a byte that says what is asked for."""
    yield "words", b"\x00file_name,label\na/1.jpg,rose\n\"b, 2.jpg\",\"tulip \"\"red\"\"\"\n"
    yield "lists", b"\x01\xef\xbb\xbflabel;image\r\nindoor|night;1.jpg\r\n;2.jpg\r\n"
    yield "numbers", b"\x02file,x,y\n1.png,0.5,-1e3\n2.png,7,.25\n"
    yield "bits", b"\x04path\tcat\tdog\n1.png\t1\t0\n2.png\t0\t\n"
def tables():
    """data/table/tables.c: a table, after a byte that chooses options and their lines (table_fuzz.c)."""
    rows = "".join("%d,%s,%s,2024-02-%02d,%d\n" % (i, ("red", "green", "blue")[i % 3], "?" if i % 4 == 0 else i / 7,
                                                  i + 1, i % 2) for i in range(20))
    yield "header", b"\x00" + b"n,colour,share,day,y\n" + rows.encode()
    yield "none", b"\x04" + rows.encode()
    yield "inputs", b"\x01" + b"n,*,colour:ordinal(red;green;blue),-4\nn,colour,share,day,y\n" + rows.encode()
    yield "targets", b"\x02" + b"1,5\n" + rows.replace(",", ";").encode()
    yield "itself", b"\x08" + b"1.5 2e3  7\n 4 -.5 inf\n3 3 3\n"
    yield "quotes", b"\x10" + b'a,"b ""c""\r\nd"\r\n"x, y",1e-320\r\nz,0\r\n'
    yield "counts", b"\x40" + b"3,2,a\n1,0\n2,1\n"
def recordings():
    """WAV (Microsoft, "Multimedia Programming Interface", 1991), AIFF, and what FLAC and OGG begin with."""
    def wave(rate, channels, bits, form, samples, extra=b""):
        block = channels * bits // 8
        head = b"fmt " + struct.pack("<IHHIIHH", 16, form, channels, rate, rate * block, block, bits)
        body = b"WAVE" + head + extra + b"data" + struct.pack("<I", len(samples)) + samples
        return b"RIFF" + struct.pack("<I", len(body)) + body
    tone = struct.pack("<200h", *[(i * 1000) % 30000 for i in range(200)])
    yield "mono", wave(8000, 1, 16, 1, tone)
    yield "stereo", wave(44100, 2, 16, 1, tone)
    yield "float", wave(16000, 1, 32, 3, struct.pack("<50f", *[i / 50 for i in range(50)]))
    yield "listed", wave(11025, 1, 8, 1, bytes(range(200)), b"LIST" + struct.pack("<I", 4) + b"INFO")
    yield "cut", wave(8000, 1, 16, 1, tone)[:100]
    common = b"COMM" + struct.pack(">IhIh", 18, 1, 100, 16) + bytes.fromhex("400bfa00000000000000")
    aiff = b"AIFF" + common + b"SSND" + struct.pack(">III", 208, 0, 0) + tone[:200]
    yield "aiff", b"FORM" + struct.pack(">I", len(aiff)) + aiff
    stream = struct.pack(">HH", 4096, 4096) + bytes(6) + bytes.fromhex("01f400f0") + bytes(4) + bytes(16)
    yield "flac", b"fLaC" + b"\x80\0\0\x22" + stream
    yield "ogg", b"OggS\0\2" + bytes(20) + b"\1\x1e\1vorbis" + bytes(23)
def trained():
    """data/trained.h: what a checkpoint says of the training's data."""
    photos = {"format": "photos", "channels": 1, "height": 8, "width": 8, "element": "byte", "target": "classification",
              "outputs": 2, "samples": [8, 2], "mean": [0.5], "deviation": [0.25], "fingerprint": "ab",
              "description": {"classes": ["daisy", "rose"]}}
    table = {**photos, "format": "table", "element": "float", "mean": [], "deviation": [], "target": "regression", "outputs": 1,
             "description": {"targets": [{"name": "price", "mean": 3.5, "deviation": 2.0}]}}
    figures = {"mean": 1.0, "deviation": 2.0}
    inputs = {"rows": ("table", 1, 1, 3, [{"name": "1", "column": 1, "kind": "number", "median": 1.0, "missing": False, **figures},
                                          {"name": "2", "column": 2, "kind": "category", "categories": ["red", "blue"]}]),
              "array": ("npy", 1, 1, 2, {"kind": "array", "shape": [2], "mean": [0.5, 1.5], "deviation": [1.0, 2.0]}),
              "audio": ("audio", 1, 98, 40, {"kind": "audio", "rate": 8000, "mels": 40, "frames": 98}),
              "series": ("series", 1, 1, 4, {"kind": "series", "window": 4, "stride": 2, "columns": [{"name": "x", **figures}]})}
    for name, (kind, channels, height, width, how) in inputs.items():
        yield name, json.dumps({**table, "format": kind, "channels": channels, "height": height, "width": width,
                                "description": {"inputs": how}}).encode()
    yield "photos", json.dumps(photos).encode()
    yield "table", json.dumps(table).encode()


def label_forms():
    """data/label_pattern.h: a form, a newline, a path."""
    yield "group", b"{label}_{group}_{}.wav\n7_anna_12.wav"
    yield "split", b"{split}/{label}/{}\ntrain/up/1.wav"
    yield "other", b"{label}.wav\na/b.flac"


def series():
    """data/series/series_rows.h: the first byte is where the second file begins."""
    def pair(first, second):
        return bytes([len(first)]) + first + second
    yield "labels", pair(b"timestamp,x,y,what\n0,1,2,a\n16,,2.5,a\n32,3,?,bb\n\n\n", b"timestamp,x,y,what\n0,1e3,-2,c\n")
    yield "numbers", pair(b"1;2\n3;4\n", b"5;6\n")
    yield "odd", pair(b"x,y\n1,2\n3,inf\n", b"y,x\n1,2\n")


def packed():
    """data/packed_head.h: two samples of 2 x 2 bytes and one, with classes; numbers, with what is said of them."""
    def file(about, element, target, outputs, counts, sample_bytes, target_bytes):
        text = json.dumps(about).encode()
        samples_at = -(-(180 + len(text)) // 4096) * 4096
        targets_at = samples_at + sum(counts) * sample_bytes
        whole = targets_at + sum(counts) * target_bytes
        head = b"shoalset" + struct.pack("<IIQQ", 1, samples_at, targets_at, whole) + b"photos".ljust(16, b"\0")
        head += b"0" * 64 + struct.pack("<8I", 1, 2, 2, element, target, outputs, *counts)
        head += struct.pack("<8f", *[0.5] * 4, *[1.0] * 4) + struct.pack("<I", len(text))
        return (head + text).ljust(samples_at, b"\0") + bytes(whole - samples_at)
    yield "classes", file({"classes": ["a", "b"], "notes": ["one is odd"]}, 0, 0, 2, (2, 1), 4, 4)
    yield "numbers", file({"targets": [{"name": "price", "mean": 3.5, "deviation": 2.0}], "notes": []}, 1, 2, 1, (1, 1),
                          16, 4)


def snapshots():
    """train/snapshot.h: the job, a zero byte, the position."""
    position = {"steps": 4, "epoch_loss": 0.5, "epoch_samples": 64, "epoch_correct": 32}
    best = {"value": 0.25, "steps": 2, "reference": 0.25, "stale": 1, "last": 0.5, "at": 4}
    for name, more in (("plain", {}), ("due", {"validation_due": True}), ("best", {"best": best}),
                       ("infinite", {"best": {**best, "last": None}})):
        yield name, json.dumps(JOB).encode() + b"\0" + json.dumps({**position, **more}).encode()


def qualities():
    """report/quality.h: metrics.json."""
    one = {"name": "rose", "samples": 40, "answers": 41, "right": 39, "precision": 0.95, "recall": 0.97, "f1": 0.96,
           "auc": None, "average_precision": None}
    yield "classes", json.dumps({"task": "classification", "samples": 80, "loss": 0.1, "classes": [one, one],
                                 "confusion": [[39, 1], [2, 38]]}).encode()
    yield "numbers", json.dumps({"task": "regression", "mae": 1.5, "targets": [{"name": "<price>", "mae": 3.1, "r2": None}]
                                 }).encode()


def onnx():
    """The models of test/onnx, which onnx's own library made."""
    for path in sorted((Path(__file__).parent.parent / "test" / "onnx").glob("*.onnx")):
        yield path.stem, path.read_bytes()


def main():
    for noun, seeds in (
            ("frame", frames),
            ("message", messages),
            ("token", tokens),
            ("idx", idx),
            ("cifar", cifar),
            ("augment", augment),
            ("study", studies),
            ("manifest", manifests),
            ("safetensors", safetensors),
            ("job", jobs),
            ("rate", rates),
            ("inventory", inventories),
            ("device", devices),
            ("device_list", device_lists),
            ("replica_receiver", hand_overs),
            ("cgroup", hierarchies),
            ("interfaces", interfaces),
            ("npy", arrays),
            ("zip", archives),
            ("photo", photos),
            ("photo_labels", photo_labels),
            ("table", tables),
            ("recording", recordings),
            ("label_pattern", label_forms),
            ("trained", trained),
            ("series", series),
            ("packed", packed),
            ("snapshot", snapshots),
            ("quality", qualities),
            ("onnx", onnx),
    ):
        folder = Path(sys.argv[1]) / noun
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds():
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
