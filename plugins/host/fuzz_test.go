package host

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	pb "google.golang.org/protobuf/proto"

	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/wire"
	"tensortapestry.org/tapc/plugins/proto"
)

// The fuzz targets of this file are what a plugin can say: its handshake, its description, its answers, its lines on
// standard error, its file. Its manifest and lock files, which people may merge badly, are in plugins/installed.

// script gives the messages of a stream, then io.EOF.
type script[In, Out any] struct {
	grpc.ClientStream
	list []*Out
}

func (s *script[In, Out]) Send(*In) error { return nil }

func (s *script[In, Out]) Recv() (*Out, error) {
	if len(s.list) == 0 {
		return nil, io.EOF
	}
	m := s.list[0]
	s.list = s.list[1:]
	return m, nil
}

// messages cuts bytes into messages, each behind two bytes that say how long it is.
func messages[M any, P interface {
	*M
	pb.Message
}](data []byte) []*M {
	var list []*M
	for len(data) > 2 && len(list) < 1000 {
		n := min(int(data[0])<<8|int(data[1]), len(data)-2)
		m := new(M)
		if pb.Unmarshal(data[2:2+n], P(m)) != nil {
			return list
		}
		list, data = append(list, m), data[2+n:]
	}
	return list
}

// joined is the other way round.
func joined(f *testing.F, list ...pb.Message) []byte {
	var out []byte
	for _, m := range list {
		text, err := pb.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		out = append(append(out, byte(len(text)>>8), byte(len(text))), text...)
	}
	return out
}

func fuzzed() *Plugin {
	return &Plugin{name: "fuzzed", path: "/fuzzed", dir: "/tmp/fuzzed", opts: Options{Log: slog.New(slog.DiscardHandler),
		Limits: Limits{Answer: 1 << 20, Reports: 100, Stderr: 1 << 16}.orDefault()}}
}

func graphBytes(f *testing.F) []byte {
	text, err := wire.Marshal(irtest.Chain(3))
	if err != nil {
		f.Fatal(err)
	}
	return text
}

func FuzzPassAnswer(f *testing.F) {
	g := graphBytes(f)
	chunk := func(b []byte) *proto.PassOutput { return &proto.PassOutput{Part: &proto.PassOutput_Graph{Graph: b}} }
	done := func(d *proto.PassDone) *proto.PassOutput {
		return &proto.PassOutput{Part: &proto.PassOutput_Done{Done: d}}
	}
	f.Add(joined(f, chunk(g[:50]), chunk(g[50:]), done(&proto.PassDone{Counts: []*proto.Count{{Name: "n", Value: 1}}})))
	f.Add(joined(f, &proto.PassOutput{Part: &proto.PassOutput_Progress{Progress: &proto.Progress{Done: 1, Total: 2, Text: "x"}}},
		&proto.PassOutput{Part: &proto.PassOutput_Log{Log: &proto.Log{Level: 9, Message: "\x1b", Fields: []*proto.Log_Field{{Name: "a", Value: "b"}}}}},
		&proto.PassOutput{Part: &proto.PassOutput_Diagnostic{Diagnostic: &proto.Diagnostic{Code: "C", Message: "m"}}}, done(&proto.PassDone{Unchanged: true})))
	before := irtest.Chain(3)
	f.Fuzz(func(t *testing.T, data []byte) {
		p := fuzzed()
		r := &passReader{call: &script[proto.PassInput, proto.PassOutput]{list: messages[proto.PassOutput](data)}, reports: p.newReports("pass", before)}
		made, err := r.read(p.opts.Limits.Answer)
		if err != nil {
			shown(t, p.explainError("pass", err).Error())
			return
		}
		r.counts()
		for _, d := range r.reports.found {
			shown(t, d.Error())
		}
		if made == nil {
			return
		}
		if _, err := wire.Marshal(made); err != nil {
			t.Errorf("a graph that came can not be sent: %v", err)
		}
		compareProgram(before, made)
	})
}

// shown checks that a text can not move the cursor of the user's terminal.
func shown(t *testing.T, text string) {
	t.Helper()
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("control characters in %q", text)
	}
}

func FuzzEmitAnswer(f *testing.F) {
	artifact := func(name string) *proto.EmitOutput {
		return &proto.EmitOutput{Part: &proto.EmitOutput_Artifact{Artifact: &proto.Artifact{Name: name, Executable: true}}}
	}
	content := &proto.EmitOutput{Part: &proto.EmitOutput_Content{Content: []byte("int main;")}}
	done := &proto.EmitOutput{Part: &proto.EmitOutput_Done{Done: &proto.EmitDone{}}}
	f.Add(joined(f, artifact("a.c"), content, content, artifact("b"), done))
	f.Add(joined(f, content, done))
	f.Add(joined(f, artifact("../up"), content, done))
	before := irtest.Chain(3)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, root := fuzzed(), t.TempDir()
		dir := filepath.Join(root, "out")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r := &emitReader{call: &script[proto.EmitInput, proto.EmitOutput]{list: messages[proto.EmitOutput](data)}, reports: p.newReports("back end", before),
			files: files{dir: dir, left: p.opts.Limits.Answer, max: p.opts.Limits.Answer}}
		err := r.read()
		r.files.close()
		if r.files.failed != nil {
			t.Errorf("a file can not be written: %v", r.files.failed)
		}
		outside, _ := os.ReadDir(root)
		inside, _ := os.ReadDir(dir)
		if len(outside) != 1 || len(inside) != len(r.files.names) {
			t.Errorf("%d files in the directory and %d beside it; %d were announced", len(inside), len(outside)-1, len(r.files.names))
		}
		if err != nil {
			shown(t, p.explainError("back end", err).Error())
		}
	})
}

func FuzzDescription(f *testing.F) {
	seed := func(m *proto.Description) {
		text, err := pb.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	option := &proto.Option{Name: "n", Doc: "d", Type: proto.Option_INT, Default: "3"}
	seed(&proto.Description{Name: "a-b", Version: "1.0.0", Passes: []*proto.Pass{{Name: "p", Doc: "d.", Needs: "schedule", Options: []*proto.Option{option}}},
		Rules: []*proto.Declarations{{Name: "r", Doc: "d.", Text: "rule"}}, Backends: []*proto.Backend{{Name: "b"}}})
	seed(&proto.Description{Name: "A", Version: "1"})
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &proto.Description{}
		if pb.Unmarshal(data, m) != nil {
			return
		}
		if _, err := ReadDescription(m); err != nil {
			shown(t, err.Error())
		}
	})
}

func FuzzHandshake(f *testing.F) {
	f.Add([]byte("1|1|unix|/tmp/fuzzed/s|grpc|AAAA\n"))
	f.Add([]byte("hello\n1|1|unix|/tmp/fuzzed/s|grpc|\nmore"))
	f.Add([]byte("9|1|tcp|127.0.0.1:1|netrpc\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		calls := 0
		s := await(bufio.NewReaderSize(bytes.NewReader(data), 64), func() { calls++ })
		if calls > 1 || len(s.line) > 64 || len(s.stray) > 64 {
			t.Errorf("%d calls for %+v", calls, s)
		}
		if s.line != "" {
			if fault := fuzzed().agree(s.line); fault != nil {
				shown(t, fault.Error())
			}
		}
		shown(t, clean(s.stray, 80))
	})
}

func FuzzFile(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\x3e\x00\x01\x00\x00\x00" + strings.Repeat("\x00", 28) + "\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00\x00"))
	f.Add([]byte("#!/usr/bin/env -S python3 -B\n"))
	f.Add([]byte("MZ"))
	f.Fuzz(func(t *testing.T, data []byte) {
		shown(t, builtFor(bytes.NewReader(data), data[:min(len(data), 256)]))
		interpreters(data[:min(len(data), 256)], searchPath)
	})
}

func FuzzStderr(f *testing.F) {
	f.Add([]byte("a line\n{\"@message\":\"m\",\"@level\":\"warn\"}\n\xff\x1b[31m"))
	f.Add(bytes.Repeat([]byte("x"), 70000))
	f.Fuzz(func(t *testing.T, data []byte) {
		over := make(chan struct{}, 1)
		lines := newTail(bytes.NewReader(data), 1<<16, slog.New(slog.DiscardHandler), func() { over <- struct{}{} })
		<-lines.done
		if len(data) > 1<<16+1 {
			<-over
		}
		last := lines.last()
		if len(last) > keptLines {
			t.Errorf("%d lines are kept", len(last))
		}
		for _, l := range last {
			if shown(t, l); len(l) > keptLineLen+len("…") {
				t.Errorf("a line of %d bytes is kept", len(l))
			}
		}
	})
}
