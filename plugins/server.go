package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/plugins/proto"
	"tensortapestry.org/tapc/plugins/stream"
)

// server answers tapc's calls for one plugin.
type server struct {
	proto.UnimplementedPluginServer
	plugin *Plugin
	ready  func() // run once, before the first answer
	once   sync.Once
	space  opened
}

// opened is the space that tapc searches.
type opened struct {
	sync.Mutex
	space *Space
}

// Register adds the service of a plugin to a gRPC server, which Serve does by itself; tests use it to run one in process.
func Register(s grpc.ServiceRegistrar, p *Plugin) {
	proto.RegisterPluginServer(s, &server{plugin: p, ready: func() {}})
}

// ServerOptions are the options that a gRPC server of a plugin needs, so that chunks fit and flow.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(stream.MaxMessage), grpc.MaxSendMsgSize(stream.MaxMessage),
		grpc.InitialWindowSize(4 << 20), grpc.InitialConnWindowSize(8 << 20)}
}

// Describe gives the plugin's description.
func (s *server) Describe(context.Context, *proto.DescribeRequest) (*proto.Description, error) {
	s.once.Do(s.ready)
	return s.plugin.describe(), nil
}

// RunPass runs the pass that the first message names over the graph behind it.
func (s *server) RunPass(call grpc.BidiStreamingServer[proto.PassInput, proto.PassOutput]) error {
	first, err := call.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	pass, ok := find(s.plugin.Passes, func(p *Pass) bool { return start != nil && p.Name == start.Pass })
	if !ok {
		return status.Errorf(codes.Unimplemented, "there is no pass %q", start.GetPass())
	}
	out := &passSender{call: call}
	c := &Context{Work: newWork(out)}
	if c.settings, err = newSettings(pass.Options, start.Options); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if c.Graph, err = receive(call.Recv, (*proto.PassInput).GetGraph); err != nil {
		return err
	}
	if err := guard(func() error { return pass.Run(call.Context(), c) }); err != nil {
		if err = out.failed(err); err != nil {
			return err
		}
	}
	return out.finish(c)
}

// find gives the item of a list that a test accepts.
func find[T any](list []T, is func(*T) bool) (*T, bool) {
	for i := range list {
		if is(&list[i]) {
			return &list[i], true
		}
	}
	return nil, false
}

// receive reads the graph of a call.
func receive[T any](recv func() (*T, error), graph func(*T) []byte) (*ir.Graph, error) {
	g, err := stream.Receive(func() ([]byte, error) {
		m, err := recv()
		if err != nil {
			return nil, err
		}
		return graph(m), nil
	}, stream.NoLimit)
	if err != nil && status.Code(err) == codes.Unknown {
		err = status.Errorf(codes.InvalidArgument, "the graph from tapc: %v", err)
	}
	return g, err
}

// guard runs the author's function and makes an error of a panic, with the stack on standard error.
func guard(run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", r, debug.Stack())
			err = status.Errorf(codes.Aborted, "panic: %v", r)
		}
	}()
	return run()
}

// sender sends messages of one call, one at a time, whoever asks.
type sender struct {
	mu     sync.Mutex
	errors bool // an error diagnostic was sent
	throttle
}

// passSender sends what a pass answers.
type passSender struct {
	sender
	call grpc.BidiStreamingServer[proto.PassInput, proto.PassOutput]
}

func (s *passSender) send(m *proto.PassOutput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.call.Send(m)
}

func (s *passSender) diagnostic(d diag.Diagnostic) {
	s.mu.Lock()
	s.errors = s.errors || d.Severity == diag.Error
	s.mu.Unlock()
	s.send(&proto.PassOutput{Part: &proto.PassOutput_Diagnostic{Diagnostic: proto.NewDiagnostic(d)}})
}

func (s *passSender) progress(done, total int, text string) {
	if p := s.take(done, total, text); p != nil {
		s.send(&proto.PassOutput{Part: &proto.PassOutput_Progress{Progress: p}})
	}
}

func (s *passSender) log(l *proto.Log) error {
	return s.send(&proto.PassOutput{Part: &proto.PassOutput_Log{Log: l}})
}

// failed sends the diagnostics inside an error; any other error ends the call.
func (s *passSender) failed(err error) error {
	list, rest := findings(err)
	for _, d := range list {
		s.diagnostic(d)
	}
	return rest
}

// finish sends the graph and the end.
func (s *passSender) finish(c *Context) error {
	done := &proto.PassDone{Unchanged: c.unchanged || s.errors}
	for _, n := range c.counts {
		done.Counts = append(done.Counts, &proto.Count{Name: n.name, Value: n.value})
	}
	if !done.Unchanged {
		if c.Graph == nil {
			return status.Error(codes.Internal, "the pass left no graph")
		}
		err := stream.Send(c.Graph, func(chunk []byte) error {
			return s.send(&proto.PassOutput{Part: &proto.PassOutput_Graph{Graph: chunk}})
		})
		if err != nil {
			return err
		}
	}
	return s.send(&proto.PassOutput{Part: &proto.PassOutput_Done{Done: done}})
}

// findings splits an error of the author's into diagnostics, if it is nothing but those, or else a status.
func findings(err error) (diag.List, error) {
	var list diag.List
	var one diag.Diagnostic
	switch {
	case errors.As(err, &list):
		return list, nil
	case errors.As(err, &one):
		return diag.List{one}, nil
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return nil, status.FromContextError(err).Err()
	case errors.Is(err, io.EOF):
		return nil, status.Error(codes.Unknown, err.Error())
	}
	if s, ok := status.FromError(err); ok {
		return nil, s.Err()
	}
	return nil, status.Error(codes.Unknown, strings.ToValidUTF8(err.Error(), "?"))
}
