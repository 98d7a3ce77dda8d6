package plugins

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/plugins/proto"
	"tensortapestry.org/tapc/plugins/stream"
)

// Emit runs the back end that the first message names over the graph behind it.
func (s *server) Emit(call grpc.BidiStreamingServer[proto.EmitInput, proto.EmitOutput]) error {
	first, err := call.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	backend, ok := find(s.plugin.Backends, func(b *Backend) bool { return start != nil && b.Name == start.Backend })
	if !ok {
		return status.Errorf(codes.Unimplemented, "there is no back end %q", start.GetBackend())
	}
	out := &emitSender{call: call}
	e := &Emission{Work: newWork(out), Name: start.Name, Version: start.TapcVersion, send: out.file}
	if e.settings, err = newSettings(backend.Options, start.Options); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if e.Graph, err = receive(call.Recv, (*proto.EmitInput).GetGraph); err != nil {
		return err
	}
	if err := guard(func() error { return backend.Emit(call.Context(), e) }); err != nil {
		list, rest := findings(err)
		for _, d := range list {
			out.diagnostic(d)
		}
		if rest != nil {
			return rest
		}
	}
	return out.send(&proto.EmitOutput{Part: &proto.EmitOutput_Done{Done: &proto.EmitDone{}}})
}

// emitSender sends what a back end answers.
type emitSender struct {
	sender
	call grpc.BidiStreamingServer[proto.EmitInput, proto.EmitOutput]
}

func (s *emitSender) send(m *proto.EmitOutput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.call.Send(m)
}

func (s *emitSender) diagnostic(d diag.Diagnostic) {
	s.send(&proto.EmitOutput{Part: &proto.EmitOutput_Diagnostic{Diagnostic: proto.NewDiagnostic(d)}})
}

func (s *emitSender) progress(done, total int, text string) {
	if p := s.take(done, total, text); p != nil {
		s.send(&proto.EmitOutput{Part: &proto.EmitOutput_Progress{Progress: p}})
	}
}

func (s *emitSender) log(l *proto.Log) error {
	return s.send(&proto.EmitOutput{Part: &proto.EmitOutput_Log{Log: l}})
}

// file sends one artifact.
func (s *emitSender) file(name string, executable bool, content []byte) error {
	head := &proto.Artifact{Name: name, Executable: executable}
	if err := s.send(&proto.EmitOutput{Part: &proto.EmitOutput_Artifact{Artifact: head}}); err != nil {
		return err
	}
	w := stream.NewWriter(func(chunk []byte) error {
		return s.send(&proto.EmitOutput{Part: &proto.EmitOutput_Content{Content: chunk}})
	})
	if _, err := w.Write(content); err != nil {
		return err
	}
	return w.Flush()
}
