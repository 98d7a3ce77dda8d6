"""Peers of race.py that compile: IREE and TVM, from ONNX models; and oneDNN's primitives, called through native/onednn.c.

Each function gives a callable, or raises with a reason."""
import ctypes, os, subprocess, sys, tempfile
import numpy as np


def tool(name):
    return os.path.join(os.path.dirname(sys.executable), name)


def iree(model, inputs, threads):
    """A model compiled by IREE for this processor. Calls take arrays of the device and leave one there."""
    import iree.runtime as rt
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m")
        with open(path + ".onnx", "wb") as f:
            f.write(model)
        for command in ([tool("iree-import-onnx"), path + ".onnx", "-o", path + ".mlir"],
                        [tool("iree-compile"), path + ".mlir", "-o", path + ".vmfb", "--iree-hal-target-device=local",
                         "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[0])
        with open(path + ".vmfb", "rb") as f:
            program = f.read()
    if threads > 1:
        rt.flags.parse_flags(f"--task_topology_group_count={threads}")
    config = rt.Config("local-task" if threads > 1 else "local-sync")
    context = rt.SystemContext(config=config)
    context.add_vm_module(rt.VmModule.copy_buffer(context.instance, program))
    name = next(n for n in context.modules.keys() if n != "hal")
    module = context.modules[name]
    function = next(getattr(module, n) for n in module.vm_module.function_names if not n.startswith("__") and not n.endswith("$async"))
    values = [rt.asdevicearray(config.device, v) for v in inputs.values()]
    return lambda: function(*values)


def tvm(model, inputs, threads):
    """A model compiled by TVM's default pipeline, without tuning."""
    import onnx
    import tvm as t
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    os.environ["TVM_NUM_THREADS"] = str(threads)
    cpu = t.target.Target({"kind": "llvm", "mcpu": machine()})
    module = from_onnx(onnx.load_from_string(model), keep_params_in_input=False)
    compiled = t.compile(module, target=cpu)
    vm = relax.VirtualMachine(compiled, t.cpu())
    values = [t.runtime.tensor(v) for v in inputs.values()]
    return lambda: vm["main"](*values)


def machine():
    """LLVM's name of a processor with this one's vectors."""
    with open("/proc/cpuinfo") as f:
        flags = set(next(line for line in f if line.startswith("flags")).split())
    if "amx_bf16" in flags:
        return "sapphirerapids"
    if "avx512vl" in flags:
        return "cascadelake" if "avx512_vnni" in flags else "skylake-avx512"
    return "haswell"


class Primitives:
    """oneDNN's primitives; None is there if its library or a C compiler is not."""

    def __init__(self):
        folder, prefix = os.path.dirname(os.path.abspath(__file__)), sys.prefix
        include = os.path.join(prefix, "include")
        if not os.path.exists(os.path.join(include, "oneapi", "dnnl", "dnnl.h")):
            include = "/usr/include"
        out = os.path.join(folder, "onednn.so")
        library = os.path.join(prefix, "lib")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", include, os.path.join(folder, "native", "onednn.c"), "-o", out,
                        "-L", library, "-ldnnl", "-Wl,-rpath," + library], check=True, capture_output=True)
        self.lib = ctypes.CDLL(out)

    def call(self, name, arrays, *sizes):
        """A callable that carries out a primitive on arrays, the last of which is its result."""
        make = getattr(self.lib, name)
        make.restype = ctypes.c_void_p
        handle = ctypes.c_void_p(make(*[ctypes.c_void_p(a.ctypes.data) for a in arrays], *[ctypes.c_long(s) for s in sizes]))
        execute = self.lib.execute
        return lambda keep=arrays: execute(handle)


def primitives():
    try:
        return Primitives()
    except Exception:
        return None
