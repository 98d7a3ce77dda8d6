package cpu_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// built builds a graph whose constants are all ones, for processors that may be named.
func built(t *testing.T, cc *toolchain.Compiler, graph string, processors ...string) string {
	t.Helper()
	g := cputest.Scheduled(t, graph)
	src, err := cpu.Prepare(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "program")
	load := func(c tensorops.Const) (tensorfile.Tensor, error) {
		x := tensorops.TensorOf(g, c.Tensor)
		n, _ := x.Range.Size()
		return tensorfile.Tensor{DType: x.Type(), Shape: x.Range.Shape(), Data: bytes.Repeat([]byte{0, 0, 128, 63}, int(n))}, nil
	}
	if err := cpu.Build(context.Background(), cc, src, load, exe, cpu.Options{Version: "test", CPU: strings.Join(processors, "")}); err != nil {
		t.Fatal(err)
	}
	return exe
}

// stated is what a program says of its memory.
type stated struct {
	Arena      int64 `json:"arena_bytes"`
	Constants  int64 `json:"constants_bytes"`
	Peak       int64 `json:"peak_bytes"`
	Thread     int64 `json:"thread_bytes"`
	Threads    int64 `json:"threads_bytes"`
	Group      int64 `json:"group_bytes"`
	Workspaces cabi.Workspaces
	Devices    []any `json:"devices"`
}

// of is the statement for some threads.
func (s stated) of(threads int64) int64 {
	if threads == 1 {
		return s.Peak
	}
	groups := min(threads, max(1, int64(len(s.Devices))))
	return s.Peak + s.Threads + (threads-1)*s.Thread + (groups-1)*s.Group + s.Workspaces.More(threads, groups)
}

func describe(t *testing.T, exe string) stated {
	t.Helper()
	out, err := exec.Command(exe, "--describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	var s stated
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func tensorText(name string, shape ...int) string {
	var b strings.Builder
	for i, n := range shape {
		fmt.Fprintf(&b, "%s0:%d", map[bool]string{true: ", "}[i > 0], n)
	}
	return fmt.Sprintf("%%%s = tensor float32 [%s]\n", name, b.String())
}

// unsure is how much less of the C library one run may have mapped than another: the system maps 16 pages around one that is used, wherever it put the library. Of a program
// of certain bytes and more that is within a tenth. Of many threads each may have a page of its stack less: which ones call what differs from run to run.
const (
	unsure  = 64 * 4096
	certain = 4_000_000
)

// A program has no more in memory than it says, and at most a tenth less, on any number of threads, each of which has a part of what there is to do; and it gives the same bytes. So with
// two and four devices, of which one reads and writes its part at another's: of the arena a gap is never touched, of 16 MiB, or of one that a huge page has with its neighbours; and with 600
// kernels, whose code is 2.5 MB (a hundred, unless all tests are asked for), and a hundred for processors that have least, whose
// code takes most.
func TestPeakMemory(t *testing.T) {
	cc := cputest.Compiler(t)
	dir, peakOf := t.TempDir(), cputest.Peak(t, cc)
	t.Setenv("TAPC_POOL", "even")
	images := imageNet(1, 16, 32, 1, 96, 3, 1, 1, 1, 1, false, false)
	panels := tensorText("x", 1, 64, 56, 56) + tensorText("w", 64, 64, 3, 3) + tensorText("y", 1, 64, 56, 56) + // each of 33 tasks packs some
		"operation op:conv {pads: [1, 1], pads_end: [1, 1], strides: [1, 1], groups: 1} (X: %x, W: %w) -> (Y: %y)\n"
	mlp := tensorText("x", 64, 1024) + tensorText("a", 1024, 2048) + tensorText("b", 2048) + tensorText("h", 64, 2048) + tensorText("c", 2048, 300) +
		tensorText("d", 300) + tensorText("z", 64, 300) + `%k1 = operation op:constant {value: 1} -> (result: %a)
%k2 = operation op:constant {value: 1} -> (result: %b)
%k3 = operation op:constant {value: 1} -> (result: %c)
%k4 = operation op:constant {value: 1} -> (result: %d)
%l1 = operation op:linear {activation: "relu"} (A: %a, b: %b, x: %x) -> (result: %h)
%l2 = operation op:linear (A: %c, b: %d, x: %h) -> (result: %z)
`
	sorted := tensorText("x", 300, 1000) + tensorText("y", 300, 1000) + tensorText("z", 300, 1000) +
		"%s = operation op:softmax {dims: [1]} (tensor: %x) -> (result: %y)\n%t = operation op:cumsum {axis: 1} (tensor: %y) -> (result: %z)\n"
	across := tensorText("x", 40, 3000) + tensorText("y", 40, 3000) + "%s = operation op:cumsum {axis: 0} (tensor: %x) -> (result: %y)\n"
	large := tensorText("x", 4<<20) + tensorText("y", 4<<20) + "%e = operation op:exp (tensor: %x) -> (result: %y)\n"
	shard := func(op, ports, index string, device int) string {
		return fmt.Sprintf("application %%%s %s\n    index [%s]\n    placement [%d]\n", op, ports, index, device)
	}
	parts := func(n int) string { // each on a device of its own
		text := tensorText("x", 4<<20) + tensorText("y", 4<<20) + "%e = operation op:exp (tensor: %x) -> (result: %y)\n"
		for i := range n {
			box := fmt.Sprintf("%d:%d", i*(4<<20)/n, (i+1)*(4<<20)/n)
			text += shard("e", fmt.Sprintf("(tensor: %%x[%s]) -> (result: %%y[%s])", box, box), box, i)
		}
		return text
	}
	columns := func(n int) string {
		text := tensorText("x", 512, 512) + tensorText("w", 512, 512) + tensorText("y", 512, 512) + "%g = operation op:matmul (X: %x, Y: %w) -> (Z: %y)\n"
		for i := range n {
			box := fmt.Sprintf("0:512, %d:%d", i*512/n, (i+1)*512/n)
			text += shard("g", fmt.Sprintf("(X: %%x, Y: %%w[%s]) -> (Z: %%y[%s])", box, box), box, i)
		}
		return text
	}
	kernels := 100
	if testkit.Full() {
		kernels = 600
	}
	many := func(n int) string {
		text := tensorText("x", n, 900) + tensorText("y", n, 900) + "%e = operation op:softmax {dims: [1]} (tensor: %x) -> (result: %y)\n"
		for i := range n { // each of code of its own
			text += shard("e", fmt.Sprintf("(tensor: %%x[%d:%d, 0:900]) -> (result: %%y[%d:%d, 0:900])", i, i+1, i, i+1), fmt.Sprintf("%d:%d", i, i+1), 0)
		}
		return text
	}
	packed := filepath.Join(dir, "x.npz")
	writePacked(t, packed, 4<<20)
	for _, c := range []struct{ name, graph, input string }{
		{"images", images, ""}, {"mlp", mlp, ""}, {"rows", sorted, ""}, {"across", across, ""}, {"blocks", attentionSize{1, 4, 700, 3000, 64, 64}.kernel(""), ""}, {"large", large, ""}, {"packed", large, packed}, {"halves", parts(2), ""}, {"quarters", parts(4), ""}, {"columns", columns(2), ""}, {"columns of four", columns(4), ""}, {"panels", panels, ""}, {"kernels", many(kernels), ""}, {"baseline", many(100), ""}, {"small", tensorText("x", 1) + tensorText("y", 1) +
			"%e = operation op:exp (tensor: %x) -> (result: %y)\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			processor := ""
			if c.name == "baseline" {
				processor = c.name
			}
			exe := built(t, cc, c.graph, processor)
			s := describe(t, exe)
			var first []byte
			for _, threads := range []int64{1, 2, 3, 5, 8, 40} {
				results := filepath.Join(dir, c.name+".npz")
				args := []string{exe, "--random", "1", "--threads", fmt.Sprint(threads), "--outputs", results}
				if c.input != "" {
					args = append(args, "--inputs", c.input)
				}
				peak := peakOf(args...)
				got, err := os.ReadFile(results)
				if err != nil {
					t.Fatal(err)
				}
				if threads == 1 {
					first = got
				} else if !bytes.Equal(got, first) {
					t.Errorf("%d threads: other bytes than with one", threads)
				}
				limit := s.of(threads)
				t.Logf("%d threads: %d of %d bytes", threads, peak, limit)
				if peak > limit {
					t.Errorf("%d threads: %d bytes, stated are %d", threads, peak, limit)
				}
				less := limit / 10
				if limit < certain {
					less += unsure
				}
				if threads > 8 {
					less += unsure + 4096*threads
				}
				if (limit >= certain || threads <= 8) && peak < limit-less {
					t.Errorf("%d threads: %d bytes, and %d are stated", threads, peak, limit)
				}
			}
		})
	}
}

// writePacked writes an .npz file that holds x, deflated.
func writePacked(t *testing.T, path string, n int) {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestSpeed) })
	f, err := w.CreateHeader(&zip.FileHeader{Name: "x.npy", Method: zip.Deflate})
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", n)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	data := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	data = append(data, head...)
	for i := range n {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(i%1000)))
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A program that cannot have what it needs says so before it begins. With a little more than that it runs.
func TestMemoryIsChecked(t *testing.T) {
	cc := cputest.Compiler(t)
	if runtime.GOOS != "linux" {
		t.Skip("limits of addresses are Linux's")
	}
	exe := built(t, cc, tensorText("x", 8<<20)+tensorText("y", 8<<20)+"%e = operation op:exp (tensor: %x) -> (result: %y)\n")
	run := func(limit int64, variable string) (string, int) {
		cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" --random 1 --threads 1`, limit>>10), exe)
		cmd.Env = append(os.Environ(), variable)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	need := describe(t, exe).Peak
	if out, status := run(need-16<<20, "A=B"); status != 3 || strings.Count(out, "\n") != 1 || !strings.Contains(out, fmt.Sprintf("out of memory: the program needs %d bytes", need)) {
		t.Errorf("status %d: %s", status, out)
	}
	if out, status := run(need+16<<20, "A=B"); status != 0 {
		t.Errorf("status %d: %s", status, out)
	}
	if out, _ := run(need-16<<20, "TAPC_MEMORY=unchecked"); strings.Contains(out, "the program needs") {
		t.Error(out)
	}
	huge := built(t, cc, tensorText("x", 1<<20, 1<<20)+tensorText("y", 1)+"%e = operation op:reshape (tensor: %x[0:1, 0:1]) -> (result: %y)\n")
	out, err := exec.Command(huge, "--random", "1").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "out of memory: the program needs 4398") {
		t.Errorf("%v: %s", err, out)
	}
}
