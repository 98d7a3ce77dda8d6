"""A server of the digit classifier. It answers each POST of an image (784 little-endian float32, row by row) with the digit in it, as JSON.

    tapc build examples/classifier/classifier.loom.json --emit=lib --name=digits -o libdigits.so
    python examples/server/python/server.py libdigits.so 8080
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import tapc

# Requests are threads; four of them run the model at a time, without Python's lock, each on a thread of its own.
model = tapc.load(sys.argv[1], threads=1, instances=4)
image_bytes = model.inputs[0].nbytes


class Handler(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self) -> None:
        if self.headers.get("Content-Length") != str(image_bytes):
            return self.reply(400, {"error": "expected an image of 784 float32"})
        image = np.frombuffer(self.rfile.read(image_bytes), "<f4")
        try:
            probabilities = model(image.reshape(model.inputs[0].shape))[0]
        except tapc.Error as e:
            return self.reply(400 if isinstance(e, ValueError) else 500, {"error": str(e)})
        digit = int(probabilities.argmax())
        self.reply(200, {"digit": digit, "probability": float(probabilities[digit])})

    def do_GET(self) -> None:
        self.reply(400, {"error": "expected POST"})

    def reply(self, status: int, answer: "dict[str, object]") -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # clients that connect at the same time; with the default, 5, some are turned away


server = Server(("127.0.0.1", int(sys.argv[2])), Handler)
print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
