#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A web page that names photos with a model of shoal.

    python3 examples/photo_page.py model.onnx [PORT]

model.onnx is the file that a training on photos leaves in its run's folder. Needs onnxruntime, numpy and Pillow
(pip install onnxruntime pillow). A photo is resized as in the training, but by Pillow: a
probability may differ by some points from that of `shoal predict`.
"""
import ast
import http.server
import io
import json
import os
import sys

import numpy
import onnxruntime
from PIL import Image, ImageOps

PAGE = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>shoal</title>
<h1>What is on this photo?</h1><input type="file" accept="image/*" onchange="ask(this.files[0])"><p><img id="photo" height="240"><ol id="answers"></ol>
<script>
async function ask(file) {
  photo.src = URL.createObjectURL(file);
  const answer = await fetch("/predict", {method: "POST", body: file});
  const lines = answer.ok ? (await answer.json()).map(([name, p]) => `${name}: ${(100 * p).toFixed(1)} %`) : [await answer.text()];
  answers.replaceChildren(...lines.map(text => Object.assign(document.createElement("li"), {textContent: text})));
}
</script>
"""
MOST_BYTES = 50_000_000
# How a training made photos square: --fit.
FITS = {"crop": ImageOps.fit, "pad": ImageOps.pad, "stretch": lambda image, size, method: image.resize(size, method)}


class Model:
    def __init__(self, path):
        if not os.path.isfile(path):
            sys.exit(f"{path}: there is no such file; the run's folder of a training on photos has a model.onnx")
        self.session = onnxruntime.InferenceSession(path)
        about = self.session.get_modelmeta().custom_metadata_map
        if about.get("task") != "classify" or "imgsz" not in about:
            sys.exit(f"{path}: not a model that names photos; train one with 'shoal train auto FOLDER'")
        self.height, self.width = ast.literal_eval(about["imgsz"])
        self.names = ast.literal_eval(about["names"])
        self.mode = "L" if about["channels"] == "1" else "RGB"
        inputs = json.loads(about.get("shoal.trained", "{}")).get("description", {}).get("inputs", {})
        self.fit, self.uses_exif = FITS[inputs.get("fit", "crop")], inputs.get("exif", True)
        self.is_baked = about.get("shoal.baked") == "1"  # by --bake: the model normalises pixels itself
        self.mean, self.std = (numpy.array(ast.literal_eval(about[key]), "float32").reshape(-1, 1, 1) for key in ("mean", "std"))

    def answers(self, photo):
        """(name, probability) of each class, the likeliest first."""
        image = Image.open(io.BytesIO(photo))
        image = (ImageOps.exif_transpose(image) if self.uses_exif else image).convert(self.mode)
        image = self.fit(image, (self.width, self.height), Image.Resampling.BILINEAR)
        pixels = numpy.asarray(image, "float32").reshape(self.height, self.width, -1).transpose(2, 0, 1)
        if not self.is_baked:
            pixels = (pixels / numpy.float32(255) - self.mean) / self.std
        logits = self.session.run(None, {"input": pixels[None]})[0][0]
        shares = numpy.exp(logits - logits.max())
        shares /= shares.sum()
        return [(self.names[k], float(shares[k])) for k in numpy.argsort(-shares, kind="stable")]


class Handler(http.server.BaseHTTPRequestHandler):
    model = None

    def reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(200, "text/html; charset=utf-8", PAGE.encode())

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not (length.isdecimal() and 0 < int(length) <= MOST_BYTES):
            self.reply(413, "text/plain", b"send one photo of at most 50 MB")
            return
        try:
            answers = self.model.answers(self.rfile.read(int(length)))
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            self.reply(400, "text/plain; charset=utf-8", f"this is not a photo that can be read: {error}".encode())
            return
        self.reply(200, "application/json", json.dumps(answers).encode())


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    Handler.model = Model(sys.argv[1])
    port = int(sys.argv[2]) if len(sys.argv) == 3 else 8000
    try:
        server = http.server.ThreadingHTTPServer(("", port), Handler)
    except OSError as error:
        sys.exit(f"port {port}: {error.strerror}; give another one: photo_page.py {sys.argv[1]} PORT")
    print(f"http://localhost:{port} names photos: {', '.join(Handler.model.names.values())}; Ctrl-C ends it", flush=True)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
