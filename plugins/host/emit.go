package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"google.golang.org/grpc"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/proto"
	"tensortapestry.org/tapc/plugins/stream"
)

// Emitted is what came of a back end.
type Emitted struct {
	Files []string  // names of the files in the directory, in the order in which they came
	Found diag.List // what the back end reports about the user's graph; with an error in it the files are of no use
}

// Request is what a back end is asked for.
type Request struct {
	Backend  string
	Program  string // its name
	Settings []pipeline.Setting
	Dir      string // an empty directory for the files
}

// Emit runs one of the plugin's back ends over a graph of Scheduled Kernels. The files are written to the request's directory
// as they come; after an error what is there is of no use. An error is a *Fault, or the context's, or one of writing.
func (p *Plugin) Emit(ctx context.Context, o Request, g *ir.Graph) (*Emitted, error) {
	part := "back end " + o.Backend
	if !slices.ContainsFunc(p.Description.Backends, func(b Backend) bool { return b.Name == o.Backend }) {
		return nil, fmt.Errorf("plugin %s has no back end %q", p.name, o.Backend)
	}
	limited, stop := context.WithTimeoutCause(ctx, p.opts.Limits.Run, errRunLimit)
	defer stop()
	work, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	call, err := p.service.Emit(work)
	if err != nil {
		return nil, p.explain(work, part, err)
	}
	go upload(cancel, g, func() error {
		start := &proto.EmitStart{Backend: o.Backend, Name: o.Program, TapcVersion: p.opts.Version, Options: settingMessages(o.Settings)}
		return call.Send(&proto.EmitInput{Part: &proto.EmitInput_Start{Start: start}})
	}, func(chunk []byte) error {
		return call.Send(&proto.EmitInput{Part: &proto.EmitInput_Graph{Graph: chunk}})
	}, call.CloseSend)
	r := &emitReader{call: call, reports: p.newReports(part, g), files: files{dir: o.Dir, left: p.opts.Limits.Answer, max: p.opts.Limits.Answer}}
	err = r.read()
	if closed := r.files.close(); err == nil {
		err = closed
	}
	if failed := r.files.failed; failed != nil { // the disk's fault, not the plugin's
		p.stop()
		return nil, diag.Fault("%w", failed)
	}
	if err != nil {
		return nil, p.explain(work, part, err)
	}
	return &Emitted{Files: r.files.names, Found: r.reports.found}, nil
}

// emitReader reads what a back end answers.
type emitReader struct {
	call    grpc.BidiStreamingClient[proto.EmitInput, proto.EmitOutput]
	reports *reports
	files   files
}

func (r *emitReader) read() error {
	for {
		m, err := r.call.Recv()
		if err == io.EOF {
			return garbage{"it ended its answer without saying that it is done"}
		}
		if err != nil {
			return err
		}
		switch part := m.Part.(type) {
		case *proto.EmitOutput_Artifact:
			err = r.files.begin(part.Artifact)
		case *proto.EmitOutput_Content:
			err = r.files.write(part.Content)
		case *proto.EmitOutput_Done:
			if _, err := r.call.Recv(); err != io.EOF {
				return garbage{"it sent more after it said that it is done"}
			}
			return nil
		case nil:
			err = r.reports.take(nil, nil, nil)
		default:
			err = r.reports.take(m.GetProgress(), m.GetDiagnostic(), m.GetLog())
		}
		if err != nil {
			return err
		}
	}
}

// fileForm is what the names of artifacts look like.
var fileForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}$`)

// maxFiles bounds the artifacts of one run.
const maxFiles = 10000

// files writes artifacts into a directory.
type files struct {
	dir    string
	left   int64
	max    int64
	names  []string
	open   *os.File
	failed error // of writing
}

func (f *files) begin(a *proto.Artifact) error {
	if err := f.close(); err != nil {
		return err
	}
	name := a.GetName()
	switch {
	case !fileForm.MatchString(name):
		return garbage{fmt.Sprintf("an artifact has the name %q", clean(name, 100))}
	case slices.Contains(f.names, name):
		return garbage{fmt.Sprintf("the artifact %q is there twice", name)}
	case len(f.names) == maxFiles:
		return &stream.LimitError{What: "artifacts", Max: maxFiles}
	}
	mode := os.FileMode(0o666)
	if a.GetExecutable() {
		mode = 0o777
	}
	f.names = append(f.names, name)
	f.open, f.failed = os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	return f.failed
}

func (f *files) write(content []byte) error {
	if f.open == nil {
		return garbage{"it sent content before an artifact's name"}
	}
	if f.left -= int64(len(content)) + 1; f.left < 0 {
		return &stream.LimitError{What: "bytes", Max: f.max}
	}
	_, f.failed = f.open.Write(content)
	return f.failed
}

func (f *files) close() error {
	if f.open == nil {
		return nil
	}
	err := f.open.Close()
	f.open = nil
	if f.failed == nil {
		f.failed = err
	}
	return err
}
