"""Race tapc's libraries against the frameworks.

  race.py COMPILER THREADS SECONDS CPU [CASE ...]

Every candidate works on buffers of its own and is called in turn; a round times each of them once, after an untimed call. With
one thread the time is the processor's, which other work on the machine disturbs less; else it is the clock's.
The table gives, for each case and candidate, the best and the median time and the median over the rounds of its time divided
by tapc's in the same round, and what programs were allowed to do to numbers. tapc's results
are compared with NumPy's in float64. With BESIDE, another compiler, every library is also made by that one, and called "beside"."""
import ctypes, os, statistics, subprocess, sys, time

COMPILER, THREADS, SECONDS, CPU = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
CHOSEN = sys.argv[5:]
cpus = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, cpus[:THREADS])  # frameworks take as many threads as they see processors
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=" + ("true" if THREADS > 1 else "false")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np


def optional(name):
    if name in os.environ.get("SKIP", "").split(","):
        return None
    try:
        return __import__(name)
    except Exception:
        return None


torch, ort, onnx, ov, jax, iree, tvm = map(optional, ("torch", "onnxruntime", "onnx", "openvino", "jax", "iree", "tvm"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peers
onednn = None if "onednn" in os.environ.get("SKIP", "") else peers.primitives()
if torch:
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
rng = np.random.default_rng(1)
now = time.process_time if THREADS == 1 else time.perf_counter


def empty(*shape, dtype=np.float32):
    """An array at an address that is a multiple of 64, as the frameworks' own are."""
    n = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(n + 64, np.uint8)
    skip = -raw.ctypes.data % 64
    return raw[skip:skip + n].view(dtype).reshape(shape)


def normal(*shape):
    out = empty(*shape)
    out[...] = rng.standard_normal(shape, dtype=np.float32)
    return out


class Tapc:
    """A library that tapc has built of a graph in the text form, or of the bytes of a model: called with arrays of its own."""

    def __init__(self, name, graph, inputs, outputs, weights=None, flags=(), compiler=COMPILER, folder="."):
        self.again = lambda compiler, folder: Tapc(name, graph, inputs, [empty(*x.shape, dtype=x.dtype) for x in outputs], weights, flags, compiler, folder)
        os.makedirs(folder, exist_ok=True)
        path = os.path.abspath(os.path.join(folder, name))
        file = path + (".onnx" if isinstance(graph, bytes) else ".tap")
        with open(file, "wb") as f:
            f.write(graph if isinstance(graph, bytes) else b"tapc 1\n" + graph.encode())
        args = [compiler, "-cpu", CPU, *flags, "-compile", path + ".so", file]
        if weights:
            np.savez(path + ".npz", **{k: v for k, v in weights.items() if f"%{k} =" in graph})
            args.append(path + ".npz")
        begin = time.perf_counter()
        self.allowed = subprocess.run(args, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self.seconds = time.perf_counter() - begin
        lib = ctypes.CDLL(path + ".so")
        symbol = "".join(c if c.isalnum() else "_" for c in name)
        symbol = "p" + symbol if symbol[0].isdigit() else symbol
        create = getattr(lib, symbol + "_create")
        create.restype = ctypes.c_void_p
        error = ctypes.create_string_buffer(500)
        self.instance = ctypes.c_void_p(create(THREADS, error, 500))
        assert self.instance, error.value
        self.run = getattr(lib, symbol + "_run")
        self.inputs, self.outputs = [np.ascontiguousarray(x) for x in inputs], outputs
        self.a = (ctypes.c_void_p * max(1, len(inputs)))(*[x.ctypes.data for x in self.inputs])
        self.b = (ctypes.c_void_p * len(outputs))(*[x.ctypes.data for x in outputs])

    def __call__(self):
        if self.run(self.instance, self.a, self.b, None, ctypes.c_size_t(0)):
            raise SystemExit("tapc's program failed")


class Onnx:
    """A model of ONNX operators, run by ONNX Runtime and by OpenVINO."""

    def __init__(self, nodes, inputs, outputs, weights, opset=20, result=np.float32):
        h = onnx.helper
        self.inputs, self.shapes, self.result = inputs, outputs, result
        info = lambda k, s, d: h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(np.dtype(d)), s)
        graph = h.make_graph([h.make_node(*n[:3], **(n[3] if len(n) > 3 else {})) for n in nodes], "g",
                             [info(k, v.shape, v.dtype) for k, v in inputs.items()], [info(k, s, result) for k, s in outputs.items()],
                             [onnx.numpy_helper.from_array(v, k) for k, v in weights.items()])
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)])
        model.ir_version = 10
        self.bytes = model.SerializeToString()

    def onnxruntime(self):
        o = ort.SessionOptions()
        o.intra_op_num_threads, o.inter_op_num_threads = THREADS, 1
        session = ort.InferenceSession(self.bytes, o, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for k, v in self.inputs.items():
            binding.bind_cpu_input(k, v)
        results = {k: empty(*s, dtype=self.result) for k, s in self.shapes.items()}
        for k, v in results.items():
            binding.bind_output(k, "cpu", 0, self.result, v.shape, v.ctypes.data)
        return lambda keep=(self, results): session.run_with_iobinding(binding)

    def openvino(self, precision="f32"):
        core = ov.Core()
        model = core.read_model(self.bytes)
        compiled = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY",
                                                     "INFERENCE_PRECISION_HINT": precision})
        request = compiled.create_infer_request()
        for k, v in self.inputs.items():
            request.set_tensor(k, ov.Tensor(v, shared_memory=True))
        return lambda keep=(self, compiled): request.infer()

    def candidates(self):
        out = {}
        if ort:
            out["onnxruntime"] = self.onnxruntime()
        if ov:
            out["openvino"] = self.openvino()
        for name, there in (("iree", iree), ("tvm", tvm)):
            if there:
                out.update(attempt(name, lambda: getattr(peers, name)(self.bytes, self.inputs, THREADS)))
        return out


def attempt(name, make):
    """A candidate that may not be able to do it: then a line says why."""
    try:
        candidate = make()
        candidate()
        return {name: candidate}
    except Exception as e:
        print(f"  {name}:", (str(e).splitlines() or [repr(e)])[0][:200], file=sys.stderr)
        return {}


def torched(function, *arrays):
    """PyTorch as written and through torch.compile."""
    if not torch:
        return {}
    tensors = [torch.from_numpy(a.copy()) for a in arrays]
    out = {"torch": lambda: function(*tensors)}
    if "compile" not in os.environ.get("SKIP", ""):
        import torch._inductor.config as config
        config.freezing = True
        compiled = torch.compile(function)
        try:
            compiled(*tensors)
            out["torch.compile"] = lambda: compiled(*tensors)
        except Exception as e:
            print("  torch.compile:", str(e).splitlines()[0], file=sys.stderr)
    return out


def jaxed(function, *arrays):
    if not jax:
        return {}
    compiled, values = jax.jit(function), [jax.device_put(a) for a in arrays]
    return {"xla": lambda: compiled(*values).block_until_ready()}


def close(got, want, tolerance):
    worst = float(np.max(np.abs(got - want)) / max(1e-30, float(np.max(np.abs(want)))))
    if not worst <= tolerance:
        raise SystemExit(f"tapc's result is off by {worst:.3g} of its greatest value")


# ---- Cases ---------------------------------------------------------------------------------------------------------

CASES = {}


def case(name):
    def add(f):
        CASES[name] = f
        return f
    return add


def tensor(name, *shape, dtype="float32"):
    return f"%{name} = tensor {dtype} [{', '.join(f'0:{n}' for n in shape)}]\n"


def gemm(m, n, k, constant):
    x, w, z = normal(m, k), normal(k, n), empty(m, n)
    graph = tensor("x", m, k) + tensor("w", k, n) + tensor("z", m, n) + "%mm = operation op:matmul (X: %x, Y: %w) -> (Z: %z)\n"
    name = f"gemm_{m}x{n}x{k}_{'const' if constant else 'input'}"
    t = Tapc(name, graph, [x] if constant else [x, w], [z], {"w": w} if constant else None)
    t()
    rows = slice(0, min(m, 64))
    close(z[rows], x[rows].astype(np.float64) @ w, 1e-6)
    out = {"tapc": t}
    y = np.empty((m, n), np.float32)
    out["numpy"] = lambda: np.matmul(x, w, out=y)
    if torch:
        a, b = torch.from_numpy(x.copy()), torch.from_numpy(w.copy())
        if constant:
            layer = torch.nn.Linear(k, n, bias=False)
            layer.weight = torch.nn.Parameter(b.t().contiguous(), requires_grad=False)
            out.update(torched(lambda v: layer(v), x))
        else:
            r = torch.empty(m, n)
            out["torch"] = lambda: torch.mm(a, b, out=r)
    if onnx:
        ins = {"x": x} if constant else {"x": x, "w": w}
        out.update(Onnx([("MatMul", ["x", "w"], ["z"])], ins, {"z": (m, n)}, {"w": w} if constant else {}).candidates())
    if onednn:
        out["onednn"] = onednn.call("product", [x, w, np.empty_like(z)], m, n, k, constant)
    if jax:
        out.update(jaxed((lambda v: v @ w) if constant else (lambda v, u: v @ u), *([x] if constant else [x, w])))
    return out, {"flops": 2.0 * m * n * k}


for shape in ("256x256x256", "512x512x512", "1024x1024x1024", "2048x2048x2048", "1x4096x4096", "8x4096x4096", "128x3072x768", "128x768x3072"):
    for constant in (True, False):
        case(f"gemm_{shape}_{'const' if constant else 'input'}")(lambda s=shape, c=constant: gemm(*map(int, s.split("x")), c))


def integers(m, k, dtype):
    out, limits = empty(m, k, dtype=dtype), np.iinfo(dtype)
    out[...] = rng.integers(limits.min, limits.max + 1, (m, k))
    return out


def bytes_gemm(m, n, k, constant):
    """The product of bytes in int32, weights constant or not."""
    x, w, z = integers(m, k, np.uint8), integers(k, n, np.int8), empty(m, n, dtype=np.int32)
    graph = tensor("x", m, k, dtype="uint8") + tensor("w", k, n, dtype="int8") + tensor("z", m, n, dtype="int32")
    graph += "%mm = operation op:matmul_integer (A: %x, B: %w) -> (Y: %z)\n"
    name = f"bytes_{m}x{n}x{k}_{'const' if constant else 'input'}"
    t = Tapc(name, graph, [x] if constant else [x, w], [z], {"w": w} if constant else None)
    t()
    close(z[:64], x[:64].astype(np.int64) @ w, 0)
    out = {"tapc": t}
    if torch:
        a, b = torch.from_numpy(x.view(np.int8).copy()), torch.from_numpy(w.copy())  # PyTorch has only that of signed bytes
        out.update(attempt("torch", lambda: lambda: torch._int_mm(a, b)))
    if onnx and ort:
        ins = {"x": x} if constant else {"x": x, "w": w}
        model = Onnx([("MatMulInteger", ["x", "w"], ["z"])], ins, {"z": (m, n)}, {"w": w} if constant else {}, result=np.int32)
        out["onnxruntime"] = model.onnxruntime()
    return out, {"flops": 2.0 * m * n * k}


def rounded_gemm(m, n, k):
    """The product of float32 with constant weights whose operands may be rounded to bfloat16."""
    x, w, z = normal(m, k), normal(k, n), empty(m, n)
    graph = tensor("x", m, k) + tensor("w", k, n) + tensor("z", m, n) + "%mm = operation op:matmul (X: %x, Y: %w) -> (Z: %z)\n"
    name = f"bf16_{m}x{n}x{k}"
    t = Tapc(name, graph, [x], [z], {"w": w}, ["-allow", "bf16"])
    exact = Tapc(name + "_exact", graph, [x], [empty(m, n)], {"w": w})
    t()
    close(z[:64], x[:64].astype(np.float64) @ w, 1e-2)
    out = {"tapc": t, "tapc exact": exact}
    if torch:
        a, layer = torch.from_numpy(x.copy()).bfloat16(), torch.nn.Linear(k, n, bias=False)
        layer.weight = torch.nn.Parameter(torch.from_numpy(w.T.copy()).bfloat16(), requires_grad=False)
        out["torch bf16"] = lambda: layer(a)
    if onnx and ov:
        model = Onnx([("MatMul", ["x", "w"], ["z"])], {"x": x}, {"z": (m, n)}, {"w": w})
        out["openvino bf16"] = model.openvino("bf16")
    return out, {"flops": 2.0 * m * n * k}


def halves(*shape):
    """Numbers of bfloat16 as their bits, and what they are in float32."""
    bits = empty(*shape, dtype=np.uint16)
    bits[...] = (normal(*shape).view(np.uint32) >> 16).astype(np.uint16)
    return bits, widened(bits)


def widened(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def halved(bits):
    """PyTorch's tensor of bits of bfloat16."""
    return torch.from_numpy(bits.copy().view(np.int16)).view(torch.bfloat16)


def halves_gemm(m, n, k, constant):
    """The product of bfloat16 in bfloat16, weights constant or not; PyTorch's constant ones are packed by oneDNN before."""
    (x, xf), (w, wf), z = halves(m, k), halves(k, n), empty(m, n, dtype=np.uint16)
    graph = "".join(tensor(name, *v.shape, dtype="bfloat16") for name, v in (("x", x), ("w", w), ("z", z)))
    if constant:
        graph += tensor("wf", k, n) + '%c = operation op:cast {dtype: "bfloat16"} (tensor: %wf) -> (result: %w)\n'
    graph += "%mm = operation op:matmul (X: %x, Y: %w) -> (Z: %z)\n"
    name = f"bfloat16_{m}x{n}x{k}_{'const' if constant else 'input'}"
    t = Tapc(name, graph, [x] if constant else [x, w], [z], {"wf": wf} if constant else None)
    t()
    close(widened(z[:64]), xf[:64].astype(np.float64) @ wf, 5e-3)
    out = {"tapc": t}
    if torch:
        a, b = halved(x), halved(w)
        out["torch"] = lambda: torch.mm(a, b)
        if constant:
            layer = torch.nn.Linear(k, n, bias=False).bfloat16().eval()
            layer.weight = torch.nn.Parameter(b.t().contiguous(), requires_grad=False)
            out["torch linear"] = lambda: layer(a)
            out.update(attempt("torch packed", lambda: packed_linear(a, b.t().contiguous())))
    return out, {"flops": 2.0 * m * n * k}


def packed_linear(a, w):
    """oneDNN's product with weights that it has packed for it, as PyTorch's frozen graphs call it."""
    packed = torch.ops.mkldnn._reorder_linear_weight(w, a.shape[0])
    return lambda: torch.ops.mkldnn._linear_pointwise(a, packed, None, "none", [], "")


PRODUCTS = ("512x512x512", "1024x1024x1024", "2048x2048x2048", "1x4096x4096", "32x4096x4096", "128x768x768", "128x3072x768", "384x4096x1024")
for shape in PRODUCTS:
    for constant in (True, False):
        case(f"bytes_{shape}_{'const' if constant else 'input'}")(lambda s=shape, c=constant: bytes_gemm(*map(int, s.split("x")), c))
        case(f"bfloat16_{shape}_{'const' if constant else 'input'}")(lambda s=shape, c=constant: halves_gemm(*map(int, s.split("x")), c))
    case(f"bf16_{shape}")(lambda s=shape: rounded_gemm(*map(int, s.split("x"))))


def halves_conv(c, f, size, window):
    """A convolution of bfloat16 with constant filters: row-major images in and out, and PyTorch's with channels innermost too."""
    (x, xf), (w, wf), y = halves(1, c, size, size), halves(f, c, window, window), empty(1, f, size, size, dtype=np.uint16)
    graph = "".join(tensor(name, *v.shape, dtype="bfloat16") for name, v in (("x", x), ("w", w), ("y", y)))
    graph += tensor("wf", *w.shape) + '%c = operation op:cast {dtype: "bfloat16"} (tensor: %wf) -> (result: %w)\n'
    graph += f"%o = operation op:conv {{pads: [{window // 2}, {window // 2}]}} (X: %x, W: %w) -> (Y: %y)\n"
    t = Tapc(f"bfconv{window}x{window}_{c}_{f}_{size}", graph, [x], [y], {"wf": wf})
    t()
    found = {"tapc": t}
    if torch:
        a, b = halved(x), halved(w)
        exact = torch.nn.functional.conv2d(torch.from_numpy(xf), torch.from_numpy(wf), padding=window // 2).numpy()
        close(widened(y), exact, 5e-3)
        al, bl = a.to(memory_format=torch.channels_last), b.to(memory_format=torch.channels_last)
        found["torch"] = lambda: torch.nn.functional.conv2d(a, b, padding=window // 2)
        found["torch nhwc"] = lambda: torch.nn.functional.conv2d(al, bl, padding=window // 2)
    return found, {"flops": 2.0 * f * c * window**2 * size**2}


def bytes_conv(c, f, size, window):
    """QLinearConv of unsigned bytes with constant weights, one scale for each filter: row-major images in and out."""
    x, w = integers(c * size, size, np.uint8).reshape(1, c, size, size), integers(f * c, window * window, np.int8).reshape(f, c, window, window)
    y = empty(1, f, size, size, dtype=np.uint8)
    weights = {"sx": np.float32(0.02), "zx": np.uint8(7), "w": w, "sw": (rng.random(f) * 0.01 + 0.001).astype(np.float32), "zw": np.zeros(f, np.int8),
               "sy": np.float32(0.005 * c**0.5 * window), "zy": np.uint8(120), "b": rng.integers(-2000, 2000, f).astype(np.int32)}
    node = ("QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"], ["y"], {"pads": [window // 2] * 4})
    model = Onnx([node], {"x": x}, {"y": y.shape}, {k: np.asarray(v) for k, v in weights.items()}, result=np.uint8)
    t = Tapc(f"qconv{window}x{window}_{c}_{f}_{size}", model.bytes, [x], [y])
    t()
    assert (y == ort.InferenceSession(model.bytes, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]).all()
    return {"tapc": t, "onnxruntime": model.onnxruntime()}, {"flops": 2.0 * f * c * window**2 * size**2}


for sizes in ((64, 64, 56, 3), (128, 128, 28, 3), (256, 64, 56, 1), (512, 128, 28, 1), (512, 512, 7, 3)):
    if onnx and ort:
        case("qconv{3}x{3}_{0}_{1}_{2}".format(*sizes))(lambda s=sizes: bytes_conv(*s))
    case("bfconv{3}x{3}_{0}_{1}_{2}".format(*sizes))(lambda s=sizes: halves_conv(*s))


def mlp(batch):
    sizes = [784, 512, 512, 10]
    x, z = normal(batch, 784), empty(batch, 10)
    weights, graph, nodes, at = {}, tensor("x", batch, 784), [], "x"
    for i, (k, n) in enumerate(zip(sizes, sizes[1:])):
        weights[f"w{i}"], weights[f"b{i}"] = normal(k, n) / np.float32(k) ** np.float32(0.5), normal(n)
        to = f"h{i}" if i < 2 else "z"
        graph += tensor(f"w{i}", k, n) + tensor(f"b{i}", n) + tensor(to, batch, n)
        act = ' {activation: "relu"}' if i < 2 else ""
        graph += f"%l{i} = operation op:linear{act} (A: %w{i}, b: %b{i}, x: %{at}) -> (result: %{to})\n"
        nodes.append(("Gemm", [at, f"w{i}", f"b{i}"], [f"g{i}" if i < 2 else "z"]))
        if i < 2:
            nodes.append(("Relu", [f"g{i}"], [to]))
        at = to
    t = Tapc(f"mlp_b{batch}", graph, [x], [z], weights)
    t()
    h = x.astype(np.float64)
    for i in range(3):
        h = h @ weights[f"w{i}"] + weights[f"b{i}"]
        h = np.maximum(h, 0) if i < 2 else h
    close(z, h, 1e-6)
    out = {"tapc": t}
    if torch:
        layers = []
        for i, (k, n) in enumerate(zip(sizes, sizes[1:])):
            layer = torch.nn.Linear(k, n)
            layer.weight = torch.nn.Parameter(torch.from_numpy(weights[f"w{i}"].T.copy()), requires_grad=False)
            layer.bias = torch.nn.Parameter(torch.from_numpy(weights[f"b{i}"].copy()), requires_grad=False)
            layers += [layer, torch.nn.ReLU()] if i < 2 else [layer]
        net = torch.nn.Sequential(*layers).eval()
        out.update(torched(lambda v: net(v), x))
    if onnx:
        out.update(Onnx(nodes, {"x": x}, {"z": (batch, 10)}, weights).candidates())
    w = weights

    def f(v):
        for i in range(3):
            v = v @ w[f"w{i}"] + w[f"b{i}"]
            v = jax.numpy.maximum(v, 0) if i < 2 else v
        return v
    out.update(jaxed(f, x))
    return out, {"flops": 2.0 * batch * (784 * 512 + 512 * 512 + 512 * 10)}


for b in (1, 256):
    case(f"mlp_b{b}")(lambda b=b: mlp(b))


def rows(op, arrays, reference, onnx_nodes, torch_function, jax_function, primitive=None):
    """One operation on matrices of 4096 rows, or a chain of them; arrays gives the inputs by name."""
    name = op[0]
    out = empty(*arrays[0][1].shape)
    graph = "".join(tensor(k, *v.shape) for k, v in arrays) + op[1]
    t = Tapc(name, graph, [v for _, v in arrays], [out])
    t()
    part = [v[:64] if v.ndim > 1 else v for _, v in arrays]
    close(out[:64], reference(*[v.astype(np.float64) for v in part]), 2e-6)
    found = {"tapc": t}
    values = [v for _, v in arrays]
    if torch:
        found.update(torched(torch_function, *values))
    if onnx:
        found.update(Onnx(onnx_nodes, dict(arrays), {"z": out.shape}, {}).candidates())
    if onednn and primitive:
        found["onednn"] = onednn.call(primitive, values + [np.empty_like(out)], *out.shape)
    if jax:
        found.update(jaxed(jax_function, *values))
    return found, {"bytes": float(sum(v.nbytes for v in values) + out.nbytes)}


@case("chain_16M")
def chain():
    n = 4096
    a = [(k, normal(n, n)) for k in "abcd"]
    graph = tensor("p", n, n) + tensor("q", n, n) + tensor("r", n, n) + tensor("z", n, n) + """%o1 = operation op:mul (tensors: [%a, %b]) -> (result: %p)
%o2 = operation op:add (tensors: [%p, %c]) -> (result: %q)
%o3 = operation op:relu (tensor: %q) -> (result: %r)
%o4 = operation op:mul (tensors: [%r, %d]) -> (result: %z)
"""
    return rows(("chain_16M", graph), a, lambda a, b, c, d: np.maximum(a * b + c, 0) * d,
                [("Mul", ["a", "b"], ["p"]), ("Add", ["p", "c"], ["q"]), ("Relu", ["q"], ["r"]), ("Mul", ["r", "d"], ["z"])],
                lambda a, b, c, d: torch.relu(a * b + c) * d, lambda a, b, c, d: jax.numpy.maximum(a * b + c, 0) * d)


@case("gelu_4096")
def gelu():
    n = 4096
    from math import erf
    graph = tensor("y", n, n) + tensor("z", n, n) + "%o1 = operation op:add (tensors: [%x, %b]) -> (result: %y)\n%o2 = operation op:gelu (tensor: %y) -> (result: %z)\n"
    return rows(("gelu_4096", graph), [("x", normal(n, n)), ("b", normal(n))],
                lambda x, b: (x + b) * 0.5 * (1 + np.vectorize(erf)((x + b) * 0.5 ** 0.5)),
                [("Add", ["x", "b"], ["y"]), ("Gelu", ["y"], ["z"])],
                lambda x, b: torch.nn.functional.gelu(x + b), lambda x, b: jax.nn.gelu(x + b, approximate=False))


@case("softmax_4096")
def softmax():
    n = 4096

    def exact(x):
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)
    graph = tensor("z", n, n) + "%o1 = operation op:softmax (tensor: %x) -> (result: %z)\n"
    return rows(("softmax_4096", graph), [("x", normal(n, n))], exact, [("Softmax", ["x"], ["z"])],
                lambda x: torch.softmax(x, 1), lambda x: jax.nn.softmax(x, 1), "softmax")


@case("layernorm_4096")
def layernorm():
    n = 4096

    def exact(x, s, b):
        y = x - x.mean(1, keepdims=True)
        return y / np.sqrt((y * y).mean(1, keepdims=True) + 1e-5) * s + b
    graph = tensor("z", n, n) + "%o1 = operation op:layer_norm (X: %x, bias: %b, scale: %s) -> (Y: %z)\n"

    def by_jax(x, s, b):
        y = x - x.mean(1, keepdims=True)
        return y * jax.lax.rsqrt((y * y).mean(1, keepdims=True) + 1e-5) * s + b
    return rows(("layernorm_4096", graph), [("x", normal(n, n)), ("s", normal(n)), ("b", normal(n))], exact,
                [("LayerNormalization", ["x", "s", "b"], ["z"])],
                lambda x, s, b: torch.nn.functional.layer_norm(x, (n,), s, b), by_jax, "norm")


class Net:
    """A network of images, written for tapc and in ONNX at the same time."""

    def __init__(self, **inputs):
        self.graph, self.nodes, self.weights, self.shapes, self.count = "", [], {}, {}, 0
        self.inputs = {k: normal(*v) for k, v in inputs.items()}
        for k, v in inputs.items():
            self.declare(k, v)

    def declare(self, name, shape):
        self.shapes[name] = tuple(shape)
        self.graph += tensor(name, *shape)

    def weight(self, value):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.ascontiguousarray(value, np.float32)
        self.declare(name, value.shape)
        return name

    def add(self, shape, text, node):
        name = f"t{self.count}"
        self.count += 1
        self.declare(name, shape)
        port = "Y" if any(k in text for k in ("conv", "pool", "gemm")) else "result"
        self.graph += f"%o{name} = operation {text} -> ({port}: %{name})\n"
        self.nodes.append((node[0], node[1], [name], node[2] if len(node) > 2 else {}))
        return name

    def conv(self, x, filters, window, stride=1, groups=1):
        n, c, h, w = self.shapes[x]
        pad = window // 2
        f = self.weight(normal(filters, c // groups, window, window) / np.float32((c // groups * window * window) ** 0.5))
        b = self.weight(normal(filters) * np.float32(0.1))
        shape = (n, filters, (h + 2 * pad - window) // stride + 1, (w + 2 * pad - window) // stride + 1)
        self.flops = getattr(self, "flops", 0) + 2.0 * np.prod(shape) * (c // groups) * window * window
        return self.add(shape, f"op:conv {{groups: {groups}, pads: [{pad}, {pad}], strides: [{stride}, {stride}]}} (X: %{x}, W: %{f}, B: %{b})",
                        ("Conv", [x, f, b], {"group": groups, "kernel_shape": [window] * 2, "pads": [pad] * 4, "strides": [stride] * 2}))

    def relu(self, x):
        return self.add(self.shapes[x], f"op:relu (tensor: %{x})", ("Relu", [x]))

    def permute(self, x, order):
        return self.add(tuple(self.shapes[x][i] for i in order), f"op:permute {{perm: {order}}} (tensor: %{x})", ("Transpose", [x], {"perm": order}))

    def plus(self, x, y):
        return self.add(self.shapes[x], f"op:add (tensors: [%{x}, %{y}])", ("Add", [x, y]))

    def max_pool(self, x, window, stride):
        n, c, h, w = self.shapes[x]
        pad = window // 2
        shape = (n, c, (h + 2 * pad - window) // stride + 1, (w + 2 * pad - window) // stride + 1)
        return self.add(shape, f"op:max_pool {{kernel: [{window}, {window}], pads: [{pad}, {pad}], strides: [{stride}, {stride}]}} (X: %{x})",
                        ("MaxPool", [x], {"kernel_shape": [window] * 2, "pads": [pad] * 4, "strides": [stride] * 2}))

    def candidates(self, name, result):
        out = empty(*self.shapes[result])
        t = Tapc(name, self.graph, list(self.inputs.values()), [out], self.weights)
        t()
        model = Onnx(self.nodes, self.inputs, {result: out.shape}, self.weights)
        fast = Tapc(name + "_fast", self.graph, list(self.inputs.values()), [empty(*out.shape)], self.weights, ("-fast-math",))
        fast()
        close(fast.outputs[0], out, 1e-4)
        found = {"tapc": t, "tapc fast-math": fast, **model.candidates()}
        if ort:
            binding = ort.InferenceSession(model.bytes, providers=["CPUExecutionProvider"])
            close(out, binding.run(None, self.inputs)[0], 2e-5)
        print(f"  {name}: built in {t.seconds:.2f} s", file=sys.stderr)
        return found, {"flops": self.flops}


CONVOLUTIONS = {"conv_3x3": (64, 64, 56, 3, 1), "conv_3x3_128": (128, 128, 28, 3, 1),
                "conv_3x3_256": (256, 256, 14, 3, 1), "conv_3x3_512": (512, 512, 7, 3, 1),
                "conv_1x1": (256, 64, 56, 1, 1), "conv_depthwise": (32, 32, 112, 3, 32)}
# Images with their channels first, and with their channels last, as most of the peers have them inside.
for chosen, last, (c, f, size, window, groups) in [(k, False, v) for k, v in CONVOLUTIONS.items()] + [
        (k + "_last", True, CONVOLUTIONS[k]) for k in ("conv_3x3", "conv_1x1", "conv_depthwise")]:
    def convolution(name=chosen, last=last, c=c, f=f, size=size, window=window, groups=groups):
        if last:
            net = Net(image=(1, size, size, c))
            result = net.permute(net.conv(net.permute("image", [0, 3, 1, 2]), f, window, groups=groups), [0, 2, 3, 1])
            image = np.ascontiguousarray(net.inputs["image"].transpose(0, 3, 1, 2))
        else:
            net = Net(image=(1, c, size, size))
            result, image = net.conv("image", f, window, groups=groups), net.inputs["image"]
        found, about = net.candidates(name, result)
        if onednn:
            arrays = [image, net.weights["w0"], net.weights["w1"], empty(1, f, size, size)]
            found["onednn"] = onednn.call("convolution", arrays, c, f, size, window, groups)
        if torch:
            x, w, b = (torch.from_numpy(v.copy()) for v in (image, net.weights["w0"], net.weights["w1"]))
            xl = x.to(memory_format=torch.channels_last)
            wl = w.to(memory_format=torch.channels_last)
            found["torch"] = lambda: torch.nn.functional.conv2d(x, w, b, padding=window // 2, groups=groups)
            found["torch nhwc"] = lambda: torch.nn.functional.conv2d(xl, wl, b, padding=window // 2, groups=groups)
        return found, about
    case(chosen)(convolution)


@case("resnet50_b1")
def resnet50():
    net = Net(x=(1, 3, 224, 224))
    x = net.max_pool(net.relu(net.conv("x", 64, 7, 2)), 3, 2)
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            y = net.relu(net.conv(x, width, 1))
            y = net.relu(net.conv(y, width, 3, stride if i == 0 else 1))
            y = net.conv(y, width * 4, 1)
            if i == 0:
                x = net.conv(x, width * 4, 1, stride)
            x = net.relu(net.plus(y, x))
    n, c = net.shapes[x][:2]
    x = net.add((n, c), f"op:mean {{dims: [2, 3]}} (tensor: %{x})", ("ReduceMean", [x, "axes"], {"keepdims": 0}))
    net.weights["axes"] = np.array([2, 3], np.int64)
    w, b = net.weight(normal(2048, 1000) / np.float32(45)), net.weight(normal(1000))
    x = net.add((n, 1000), f"op:gemm (A: %{x}, B: %{w}, C: %{b})", ("Gemm", [x, w, b]))
    return net.candidates("resnet50_b1", x)


class Encoder:
    """A transformer's encoder as exporters write it in ONNX: queries, keys and values of several heads, and gelu by erf."""

    def __init__(self, sequence, layers, hidden=768, heads=12, inner=3072):
        self.nodes, self.weights, self.count = [], {}, 0
        self.hidden, self.heads, self.inner, self.sequence = hidden, heads, inner, sequence
        x = "x"
        for i in range(layers):
            x = self.layer(x, "y" if i == layers - 1 else None)

    def op(self, kind, *inputs, to=None, **attributes):
        self.count += 1
        to = to or f"t{self.count}"
        self.nodes.append((kind, list(inputs), [to], attributes))
        return to

    def weight(self, value):
        name = f"w{len(self.weights)}"
        self.weights[name] = value
        return name

    def linear(self, x, k, n):
        w, b = self.weight(normal(k, n) / np.float32(k ** 0.5)), self.weight(normal(n) * np.float32(0.02))
        return self.op("Add", self.op("MatMul", x, w), b)

    def norm(self, x, to=None):
        s, b = self.weight(normal(self.hidden) * np.float32(0.1) + 1), self.weight(normal(self.hidden) * np.float32(0.1))
        return self.op("LayerNormalization", x, s, b, to=to, axis=-1, epsilon=1e-12)

    def layer(self, x, to):
        h, d = self.hidden, self.hidden // self.heads
        shape = self.weight(np.array([1, self.sequence, self.heads, d]))
        q, k, v = (self.op("Transpose", self.op("Reshape", self.linear(x, h, h), shape), perm=p)
                   for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.op("Div", self.op("MatMul", q, k), self.weight(np.float32(d ** 0.5)))
        heads = self.op("Transpose", self.op("MatMul", self.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", heads, self.weight(np.array([1, self.sequence, h])))
        x = self.norm(self.op("Add", self.linear(joined, h, h), x))
        y = self.linear(x, h, self.inner)
        e = self.op("Add", self.op("Erf", self.op("Div", y, self.weight(np.float32(2 ** 0.5)))), self.weight(np.float32(1)))
        y = self.op("Mul", self.op("Mul", y, e), self.weight(np.float32(0.5)))
        return self.norm(self.op("Add", self.linear(y, self.inner, h), x), to)

    def torch(self):
        """The same in PyTorch, weights in the order in which layer makes them."""
        f, h, n, s = torch.nn.functional, self.heads, self.hidden, self.sequence
        w = [torch.from_numpy(np.array(v)) for v in self.weights.values() if v.dtype == np.float32 and v.ndim]
        w = [v.t().contiguous().t() if v.ndim == 2 else v for v in w]

        def encode(x):
            for i in range(0, len(w), 16):
                q, k, v = (f.linear(x, w[i + j].t(), w[i + j + 1]).view(1, s, h, n // h).transpose(1, 2) for j in (0, 2, 4))
                a = f.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, s, n)
                x = f.layer_norm(f.linear(a, w[i + 6].t(), w[i + 7]) + x, (n,), w[i + 8], w[i + 9], 1e-12)
                y = f.gelu(f.linear(x, w[i + 10].t(), w[i + 11]))
                x = f.layer_norm(f.linear(y, w[i + 12].t(), w[i + 13]) + x, (n,), w[i + 14], w[i + 15], 1e-12)
            return x
        return encode


def bert(sequence, layers):
    net, x, y = Encoder(sequence, layers), normal(1, sequence, 768), empty(1, sequence, 768)
    model = Onnx(net.nodes, {"x": x}, {"y": y.shape}, net.weights, 17)
    t = Tapc(f"bert_{layers}_s{sequence}", model.bytes, [x], [y])
    t()
    found = {"tapc": t, **model.candidates()}
    if ort:
        close(y, ort.InferenceSession(model.bytes, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0], 2e-5)
    if torch:
        encode = net.torch()
        close(encode(torch.from_numpy(x)).numpy(), y, 2e-5)
        found.update(torched(encode, x))
    print(f"  bert_{layers}_s{sequence}: built in {t.seconds:.2f} s", file=sys.stderr)
    products = 2.0 * sequence * (4 * 768 * 768 + 2 * 768 * 3072 + 2 * sequence * 768)
    return found, {"flops": layers * products}


def attention(sequence, heads=12, depth=64):
    """Queries, keys and values of several heads, in ONNX as exporters write it, and as PyTorch's one function."""
    q, k, v = (normal(1, heads, sequence, depth) for _ in range(3))
    y, factor = empty(1, heads, sequence, depth), np.float32(depth ** -0.5)
    nodes = [("Transpose", ["k"], ["t"], {"perm": [0, 1, 3, 2]}), ("MatMul", ["q", "t"], ["s"]), ("Mul", ["s", "f"], ["r"]),
             ("Softmax", ["r"], ["p"], {"axis": -1}), ("MatMul", ["p", "v"], ["y"])]
    model = Onnx(nodes, {"q": q, "k": k, "v": v}, {"y": y.shape}, {"f": factor}, 17)
    t = Tapc(f"attention_s{sequence}", model.bytes, [q, k, v], [y])
    t()
    scores = q[0, 0].astype(np.float64) @ k[0, 0].T * factor
    weights = np.exp(scores - scores.max(1, keepdims=True))
    close(y[0, 0], weights / weights.sum(1, keepdims=True) @ v[0, 0], 2e-5)
    found = {"tapc": t, **model.candidates()}
    if ort:
        one = Onnx([("Attention", ["q", "k", "v"], ["y"])], {"q": q, "k": k, "v": v}, {"y": y.shape}, {}, 23)
        found.update(attempt("onnxruntime Attention", one.onnxruntime))
    if torch:
        found.update(torched(torch.nn.functional.scaled_dot_product_attention, q, k, v))
    if jax:
        numpy = jax.numpy
        found.update(jaxed(lambda q, k, v: numpy.matmul(jax.nn.softmax(numpy.matmul(q, numpy.swapaxes(k, 2, 3)) * factor), v), q, k, v))
    return found, {"flops": 4.0 * heads * sequence * sequence * depth}


for sequence in (512, 2048):
    case(f"attention_s{sequence}")(lambda s=sequence: attention(s))

for sequence, layers in ((128, 1), (512, 1), (128, 12)):
    case(f"bert_{layers}_s{sequence}")(lambda s=sequence, n=layers: bert(s, n))


# ---- The race ------------------------------------------------------------------------------------------------------

def pace(candidates):
    """How many calls of each candidate make a sample of some milliseconds; one that takes thirty times as long as tapc is out."""
    inner, ours = {}, None
    for k, f in list(candidates.items()):
        f()
        begin = now()
        f()
        took = now() - begin
        if ours is not None and took > 30 * ours:
            print(f"  {k}: {took / ours:.0f} times as long as tapc, left out", file=sys.stderr)
            del candidates[k]
            continue
        for _ in range(2):
            f()
        begin = now()
        f()
        took = now() - begin
        ours = took if k == "tapc" else ours
        inner[k] = max(1, int(0.004 / max(took, 1e-7)))
    return inner


def place():
    """The caller on the first processor, every other thread on the others: left alone, a thread that wakes up often lands on the
    processor of one that spins and waits for it."""
    if THREADS < 2:
        return
    for t in map(int, os.listdir("/proc/self/task")):
        try:
            os.sched_setaffinity(t, {cpus[0]} if t == os.getpid() else set(cpus[1:THREADS]))
        except ProcessLookupError:
            pass


def run(name, candidates, about):
    inner, times = pace(candidates), {k: [] for k in candidates}
    place()
    end, order = time.time() + SECONDS, list(candidates)
    while time.time() < end or len(times[order[0]]) < 7:
        for k in order:
            f = candidates[k]
            f()
            begin = now()
            for _ in range(inner[k]):
                f()
            times[k].append((now() - begin) / inner[k])
            time.sleep(0.004)  # threads that spin after their work go to sleep
        order = order[1:] + order[:1]
    report(name, times, {k: getattr(f, "allowed", "") for k, f in candidates.items()}, about)


def report(name, times, allowed, about):
    ours = times["tapc"]
    peers = {k: v for k, v in times.items() if not k.startswith("tapc")}
    best = min(peers, key=lambda k: min(peers[k])) if peers else None
    print(f"\n{name}, {THREADS} thread{'s' * (THREADS > 1)}, {len(ours)} rounds")
    for k in sorted(times, key=lambda k: min(times[k])):
        b, m = min(times[k]), statistics.median(times[k])
        line = f"  {k:16s} best {b * 1e3:9.4f} ms  median {m * 1e3:9.4f} ms"
        if k != "tapc":  # "beside" is compared with what has the same permissions
            mine = times[k.removesuffix(" beside")] if k.endswith(" beside") else ours
            line += f"  tapc/this: best {min(mine) / b:5.2f}  median {statistics.median(o / t for o, t in zip(mine, times[k])):5.2f}"
        for what, unit in (("flops", "GF/s"), ("bytes", "GB/s")):
            if what in about:
                line += f"  {about[what] / b * 1e-9:7.1f} {unit}"
        print(line + (f"  allowed {allowed[k]}" if allowed[k] else "") + ("  <- best peer" if k == best else ""))
    sys.stdout.flush()


def beside(candidates):
    """The same libraries by another compiler."""
    other = os.environ.get("BESIDE")
    return {f"{k} beside": c.again(other, "beside") for k, c in candidates.items() if isinstance(c, Tapc)} if other else {}


for name, make in CASES.items():
    if not CHOSEN or any(name.startswith(c) for c in CHOSEN):
        candidates, about = make()
        run(name, {**candidates, **beside(candidates)}, about)
