"""What a tapc plugin in Python needs besides its passes: the handshake, the certificate and the service.

It speaks the protocol of plugins/proto/plugin.proto with grpcio alone. Messages are made from the .proto files when the
plugin is built (see README.md). A pass is a function of a Graph message; it returns True if it changed the graph.
"""

import base64
import datetime
import os
import sys
import threading
import traceback
from concurrent import futures

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import plugin_pb2
import plugin_pb2_grpc
import tapc_pb2

CHUNK = 1 << 20
LIMIT = 4 << 20


class Refused(Exception):
    """A finding about the user's graph: the pass ends without one."""

    def __init__(self, code, message, node=None, field=""):
        super().__init__(message)
        self.code, self.node, self.field = code, node, field


class Pass:
    def __init__(self, name, doc, run, needs="tensorops"):
        self.name, self.doc, self.run, self.needs = name, doc, run, needs


class Work:
    """What a pass gets: its graph, and the ways to report."""

    def __init__(self, graph, context, send):
        self.graph, self.context, self._send, self.counts = graph, context, send, {}

    def cancelled(self):
        return not self.context.is_active()

    def log(self, message):
        self._send(plugin_pb2.PassOutput(log=plugin_pb2.Log(level=plugin_pb2.Log.DEBUG, message=message)))

    def count(self, name, n):
        self.counts[name] = self.counts.get(name, 0) + n


class Service(plugin_pb2_grpc.PluginServicer):
    def __init__(self, name, version, doc, passes):
        self.name, self.version, self.doc, self.passes = name, version, doc, {p.name: p for p in passes}

    def Describe(self, request, context):
        return plugin_pb2.Description(
            name=self.name, version=self.version, doc=self.doc, minor=0, sdk="python 1.0",
            passes=[plugin_pb2.Pass(name=p.name, doc=p.doc, needs=p.needs) for p in self.passes.values()])

    def RunPass(self, requests, context):
        first = next(requests, None)
        start = first.start if first is not None and first.HasField("start") else None
        name = getattr(start, "pass") if start is not None else ""
        if name not in self.passes:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "there is no pass %r" % name)
        if len(start.options) > 0:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "there is no option %r" % start.options[0].name)
        graph = tapc_pb2.Graph()
        graph.ParseFromString(b"".join(r.graph for r in requests))
        out = []
        work = Work(graph, context, out.append)
        try:
            changed = self.passes[name].run(work)
        except Refused as e:
            yield from out
            at = plugin_pb2.Location(number=0 if e.node is None else e.node + 1, field=e.field)
            yield plugin_pb2.PassOutput(diagnostic=plugin_pb2.Diagnostic(code=e.code, message=str(e), location=at))
            yield plugin_pb2.PassOutput(done=plugin_pb2.PassDone(unchanged=True))
            return
        except Exception as e:
            traceback.print_exc()
            context.abort(grpc.StatusCode.ABORTED, "exception: %s" % e)
        yield from out
        if changed:
            data = graph.SerializeToString(deterministic=True)
            for at in range(0, len(data), CHUNK):
                yield plugin_pb2.PassOutput(graph=data[at:at + CHUNK])
        yield plugin_pb2.PassOutput(done=plugin_pb2.PassDone(
            unchanged=not changed,
            counts=[plugin_pb2.Count(name=k, value=v) for k, v in sorted(work.counts.items())]))


def certificate():
    """A key and a certificate for this one run."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    cert = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=1)).not_valid_after(now + datetime.timedelta(days=365))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(digital_signature=True, key_encipherment=True, key_cert_sign=True,
                                         key_agreement=True, content_commitment=False, data_encipherment=False,
                                         crl_sign=False, encipher_only=False, decipher_only=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH,
                                                  x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .sign(key, hashes.SHA256()))
    pem = cert.public_bytes(serialization.Encoding.PEM)
    der = cert.public_bytes(serialization.Encoding.DER)
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return secret, pem, der


def add_library_services(server, done):
    """What the handshake library calls besides the plugin's own service: a way to end the plugin."""
    empty = lambda _: b""

    def shutdown(request, context):
        done.set()
        return b""

    def silent(request, context):
        done.wait()
        return iter(())

    def broker(requests, context):
        done.wait()
        return iter(())

    server.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler("plugin.GRPCController", {
            "Shutdown": grpc.unary_unary_rpc_method_handler(shutdown, empty, lambda b: b)}),
        grpc.method_handlers_generic_handler("plugin.GRPCStdio", {
            "StreamStdio": grpc.unary_stream_rpc_method_handler(silent, empty, lambda b: b)}),
        grpc.method_handlers_generic_handler("plugin.GRPCBroker", {
            "StartStream": grpc.stream_stream_rpc_method_handler(broker, empty, lambda b: b)}),
    ))


def watch_host():
    """tapc holds the other end of standard input: when it ends, tapc is gone."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def serve(name, version, doc, passes):
    if os.environ.get("TAPC_PLUGIN") != "tapc-plugin-5d1c6b9e":
        sys.exit("%s is a plugin for tapc: use it with tapc opt --plugin" % name)
    handshake = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anything prints goes to standard error
    threading.Thread(target=watch_host, daemon=True).start()
    done = threading.Event()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=[
        ("grpc.max_receive_message_length", LIMIT), ("grpc.max_send_message_length", LIMIT)])
    plugin_pb2_grpc.add_PluginServicer_to_server(Service(name, version, doc, passes), server)
    add_library_services(server, done)
    path = os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "socket")
    secret, pem, der = certificate()
    credentials = grpc.ssl_server_credentials(
        [(secret, pem)], root_certificates=os.environ["PLUGIN_CLIENT_CERT"].encode(), require_client_auth=True)
    server.add_secure_port("unix:" + path, credentials)
    server.start()
    handshake.write("1|1|unix|%s|grpc|%s\n" % (path, base64.b64encode(der).decode().rstrip("=")))
    handshake.flush()
    done.wait()
    server.stop(0)
    os._exit(0)
