package compare

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

//go:embed peer.py
var peerScript []byte

// ONNXRuntime is ONNX Runtime in a Python.
type ONNXRuntime struct {
	Python  string
	Model   string // the file, or one with further outputs
	Folder  string // of the model's data files
	Memory  bool   // the model is given as bytes, so that data files are in Folder
	Dir     string // a folder for its files
	Threads int    // 0: all cores
	version string
	inputs  []peerFile
	outputs []peerFile
	runs    int
	cmd     *exec.Cmd // the process that is timed; nil before
	to      io.WriteCloser
	from    *bufio.Reader
	said    bytes.Buffer
}

type peerFile struct {
	Name  string  `json:"name"`
	File  string  `json:"file"`
	Type  int     `json:"type,omitempty"` // ONNX's number of an element type that NumPy lacks: the file is bare elements
	Shape []int64 `json:"shape,omitempty"`
}

// PeerHelp is what to do where there is no Python with ONNX Runtime.
const PeerHelp = "install it with: python3 -m venv peers && peers/bin/pip install onnxruntime numpy, and name peers/bin/python with --python or TAPC_PEERS_PYTHON"

// FindPython gives a Python that has ONNX Runtime, and that one's version: the one that is named or, without a name, that of TAPC_PEERS_PYTHON or python3.
func FindPython(ctx context.Context, named string) (python, version string, err error) {
	for _, name := range []string{named, os.Getenv("TAPC_PEERS_PYTHON"), "python3"} {
		if name != "" {
			python = name
			break
		}
	}
	path, err := exec.LookPath(python)
	if err != nil {
		return "", "", diag.Usage("--against=onnxruntime needs a Python with ONNX Runtime: %v; %s", err, PeerHelp)
	}
	cmd := childproc.Command(ctx, path, "-c", "import numpy, onnxruntime; print(onnxruntime.__version__)")
	out, err := cmd.Output()
	if cause := context.Cause(ctx); cause != nil {
		return "", "", cause
	}
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		return "", "", diag.Usage("--against=onnxruntime: %s has no ONNX Runtime with NumPy; %s", python, PeerHelp)
	}
	return path, strings.TrimSpace(string(out)), nil
}

// NewONNXRuntime is a side for a model with these outputs.
func NewONNXRuntime(python, version, dir string, inputs []Named, outputs []string) (*ONNXRuntime, error) {
	p := &ONNXRuntime{Python: python, Dir: dir, version: version}
	for i, x := range inputs {
		f := peerFile{Name: x.Name, File: filepath.Join(dir, fmt.Sprintf("peer-in%d.npy", i))}
		data, err := f.content(x.Tensor)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", x.Name, err)
		}
		if err := os.WriteFile(f.File, data, 0o600); err != nil {
			return nil, diag.Fault("%w", err)
		}
		p.inputs = append(p.inputs, f)
	}
	for i, name := range outputs {
		p.outputs = append(p.outputs, peerFile{Name: name, File: filepath.Join(dir, fmt.Sprintf("peer-out%d.npy", i))})
	}
	return p, nil
}

// content gives the file of an input. ONNX Runtime takes no elements narrower than a byte from Python.
func (f *peerFile) content(t tensorfile.Tensor) ([]byte, error) {
	d := t.DType
	switch {
	case d.Bits() < 8 && !d.IsBool():
		return nil, fmt.Errorf("ONNX Runtime can not be given %v", d)
	case d != scalar.BFloat16 && (!d.IsFloat() || d.Bits() > 8):
		return tensorfile.NPY(t)
	}
	f.Type, f.Shape = onnx.ElementNumber(d), append([]int64{}, t.Shape...)
	return t.Data, nil
}

// value reads an output: a .npy file or, of types that NumPy lacks, a tensor as ONNX has it.
func (f *peerFile) value() (tensorfile.Tensor, error) {
	if data, err := os.ReadFile(f.File + ".pb"); err == nil {
		_, t, err := onnx.ReadTensor(data)
		return t, err
	}
	file, err := tensorfile.Open(f.File)
	if err != nil {
		return tensorfile.Tensor{}, err
	}
	defer file.Close()
	return file.Load(file.Tensors()[0].Name)
}

// Title names ONNX Runtime.
func (p *ONNXRuntime) Title() string { return "onnxruntime " + p.version }

// start begins a process with the script; it stays for further requests if that is asked for.
func (p *ONNXRuntime) start(ctx context.Context, stays bool) (cmd *exec.Cmd, err error) {
	script, request := filepath.Join(p.Dir, "peer.py"), filepath.Join(p.Dir, "request.json")
	text, err := json.Marshal(map[string]any{"model": p.Model, "folder": p.Folder, "bytes": p.Memory, "threads": p.Threads,
		"inputs": notNil(p.inputs), "outputs": notNil(p.outputs)})
	if err == nil {
		err = os.WriteFile(request, text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(script, peerScript, 0o600)
	}
	if err != nil {
		return nil, diag.Fault("%w", err)
	}
	args := []string{script, request}
	if stays {
		args = append(args, "-")
	}
	cmd = childproc.Command(ctx, p.Python, args...)
	p.said.Reset()
	cmd.Stderr = &p.said
	return cmd, nil
}

func notNil(list []peerFile) []peerFile { return append([]peerFile{}, list...) }

// once is what the script prints of its first run.
type once struct {
	Version string `json:"version"`
	Host    int64  `json:"host"`
	Peak    int64  `json:"peak"`
}

// Once runs the model once in a new process.
func (p *ONNXRuntime) Once(ctx context.Context) (Usage, error) {
	begun := time.Now()
	cmd, err := p.start(ctx, false)
	if err != nil {
		return Usage{}, err
	}
	out, err := cmd.Output()
	if cause := context.Cause(ctx); cause != nil {
		return Usage{}, cause
	}
	if err != nil {
		return Usage{}, p.fault(err)
	}
	var x once
	if err := json.Unmarshal(out, &x); err != nil {
		return Usage{}, p.fault(err)
	}
	return Usage{Milliseconds: float64(time.Since(begun)) / 1e6, Peak: x.Peak, Host: x.Host}, nil
}

// Peak runs the model once, and the process says what it had.
func (p *ONNXRuntime) Peak(ctx context.Context) (Usage, error) { return p.Once(ctx) }

// fault is an error with what the script said: of a stack, the last line.
func (p *ONNXRuntime) fault(err error) error {
	said := strings.TrimSpace(p.said.String())
	if i := strings.LastIndexByte(said, '\n'); i >= 0 && strings.Contains(said, "Traceback (most recent call last)") {
		said = said[i+1:]
	}
	return fmt.Errorf("ONNX Runtime does not run the model: %w\n%s", err, said)
}

// Values runs the model once.
func (p *ONNXRuntime) Values(ctx context.Context) (map[string]tensorfile.Tensor, error) {
	if _, err := p.Once(ctx); err != nil {
		return nil, err
	}
	out := map[string]tensorfile.Tensor{}
	for _, x := range p.outputs {
		t, err := x.value()
		if err != nil {
			return nil, err
		}
		out[x.Name] = t
	}
	return out, nil
}

// Bench measures in a process that stays.
func (p *ONNXRuntime) Bench(ctx context.Context) (float64, error) {
	if p.cmd == nil {
		if err := p.stay(ctx); err != nil {
			return 0, err
		}
		t, err := p.bench(ctx, leastRuns)
		if err != nil {
			return 0, err
		}
		p.runs = runsFor(t)
	}
	return p.bench(ctx, p.runs)
}

// stay starts the process that stays.
func (p *ONNXRuntime) stay(ctx context.Context) error {
	cmd, err := p.start(ctx, true)
	if err != nil {
		return err
	}
	if p.to, err = cmd.StdinPipe(); err != nil {
		return diag.Fault("%w", err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return diag.Fault("%w", err)
	}
	p.from = bufio.NewReader(from)
	if err := cmd.Start(); err != nil {
		return diag.Fault("%w", err)
	}
	p.cmd = cmd
	for range 2 { // what the first run was, and that it is ready
		if _, err := p.line(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *ONNXRuntime) line(ctx context.Context) ([]byte, error) {
	line, err := p.from.ReadBytes('\n')
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		p.cmd.Wait() // for all that it says
		return nil, p.fault(err)
	}
	return line, nil
}

func (p *ONNXRuntime) bench(ctx context.Context, runs int) (float64, error) {
	if _, err := fmt.Fprintln(p.to, runs); err != nil {
		return 0, p.fault(err)
	}
	line, err := p.line(ctx)
	if err != nil {
		return 0, err
	}
	var x struct{ Milliseconds float64 }
	if err := json.Unmarshal(line, &x); err != nil || x.Milliseconds <= 0 {
		return 0, diag.Fault("the script for ONNX Runtime printed %q", line)
	}
	return x.Milliseconds, nil
}

// Close ends the process that stays.
func (p *ONNXRuntime) Close() error {
	if p.cmd == nil {
		return nil
	}
	p.to.Close()
	return p.cmd.Wait()
}
