package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/wire"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/host"
)

func checkStart(ctx context.Context, s *Subject, t T) {
	began := time.Now()
	p := s.start(ctx, t)
	if p == nil {
		return
	}
	defer p.Close()
	d := p.Description
	t.Logf("%s %s, written with %s, started in %v: %d passes, %d sets of rules, %d of kernels, %d back ends", d.Name, d.Version, d.SDK,
		time.Since(began).Round(time.Millisecond), len(d.Passes), len(d.Rules), len(d.Kernels), len(d.Backends))
	for _, gap := range p.Confinement().Gaps() {
		t.Logf("this system does not confine it fully: %s: %s", gap.Name, gap.Text)
	}
}

func checkDescribe(ctx context.Context, s *Subject, t T) {
	var texts []string
	for range 2 {
		p := s.start(ctx, t)
		if p == nil {
			return
		}
		p.Close()
		texts = append(texts, describe(p.Description))
		for _, b := range p.Description.Backends {
			if b.Doc == "" {
				t.Errorf("back end %s has no sentence that says what it makes", b.Name)
			}
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("it says of itself\n%s\nand the next time\n%s", texts[0], texts[1])
	}
}

func checkEnd(ctx context.Context, s *Subject, t T) {
	p := s.start(ctx, t)
	if p == nil {
		return
	}
	p.Close()
	if p.Forced() {
		t.Errorf("it did not end within %v when it was asked to, and was killed", s.grace())
	}
	if p = s.start(ctx, t); p == nil {
		return
	}
	defer p.Close()
	if !p.Abandon(endPatience) {
		t.Errorf("it did not end within %v when its standard input ended: it would outlive a tapc that is killed", endPatience)
	}
}

func (s *Subject) grace() time.Duration {
	if s.Limits.Grace > 0 {
		return s.Limits.Grace
	}
	return host.DefaultLimits().Grace
}

// endPatience is how long a plugin may take to notice that tapc is gone.
const endPatience = 5 * time.Second

func checkPasses(ctx context.Context, s *Subject, t T) {
	s.each(ctx, t, func(x item, a *host.Answer) {
		for _, d := range a.Found {
			t.Logf("%v: %v", x, d)
		}
		if a.Found.HasErrors() {
			t.Logf("%v: it refuses the graph", x)
		}
	})
}

// each runs every pass over every graph that it takes; after a fault the plugin is started again.
func (s *Subject) each(ctx context.Context, t T, use func(item, *host.Answer)) {
	p := s.start(ctx, t)
	if p == nil {
		return
	}
	defer func() { p.Close() }()
	for _, x := range s.items(p, t) {
		before, err := wire.Marshal(x.graph)
		if err != nil {
			t.Errorf("%v: %v", x, err)
			continue
		}
		a, err := p.RunPass(ctx, x.name, nil, x.graph)
		if err != nil {
			t.Errorf("%v: %v", x, explained(err))
			p.Close()
			if p = s.start(ctx, t); p == nil {
				p = &host.Plugin{}
				return
			}
			continue
		}
		if after, err := wire.Marshal(x.graph); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%v: the host changed the graph", x)
		}
		use(x, a)
	}
}

func checkDeterminism(ctx context.Context, s *Subject, t T) {
	seen := map[string]string{}
	for range 2 { // processes
		p := s.start(ctx, t)
		if p == nil {
			return
		}
		for range 2 {
			for _, x := range s.items(p, t) {
				got, ok := digest(ctx, p, x, t)
				if key := x.String(); !ok {
					break
				} else if old, again := seen[key]; again && old != got {
					t.Errorf("%v: the graph is not the same every time", x)
				} else {
					seen[key] = got
				}
			}
		}
		p.Close()
	}
}

// digest gives a short text for what came of a pass.
func digest(ctx context.Context, p *host.Plugin, x item, t T) (string, bool) {
	a, err := p.RunPass(ctx, x.name, nil, x.graph)
	if err != nil {
		t.Errorf("%v: %v", x, explained(err))
		return "", false
	}
	text, err := wire.Marshal(a.Graph)
	if err != nil {
		t.Errorf("%v: %v", x, err)
		return "", false
	}
	sum := sha256.Sum256(append(text, a.Found.Error()...))
	return hex.EncodeToString(sum[:]), true
}

func checkConcurrency(ctx context.Context, s *Subject, t T) {
	p := s.start(ctx, t)
	if p == nil {
		return
	}
	defer p.Close()
	list := s.items(p, t)
	want := make([]string, len(list))
	for i, x := range list {
		var ok bool
		if want[i], ok = digest(ctx, p, x, t); !ok {
			return
		}
	}
	var all sync.WaitGroup
	for i, x := range list {
		for range 2 {
			all.Go(func() {
				if got, ok := digest(ctx, p, x, t); ok && got != want[i] {
					t.Errorf("%v: the graph is another when passes run side by side", x)
				}
			})
		}
	}
	all.Wait()
}

func checkOptions(ctx context.Context, s *Subject, t T) {
	p := s.start(ctx, t)
	if p == nil {
		return
	}
	defer func() { p.Close() }()
	done := map[string]bool{}
	for _, x := range s.items(p, t) {
		if done[x.name] {
			continue
		}
		done[x.name] = true
		i := slices.IndexFunc(p.Description.Passes, func(row pipeline.Pass) bool { return row.Name == x.name })
		var given []pipeline.Setting
		for _, o := range p.Description.Passes[i].Options {
			given = append(given, pipeline.Setting{Name: o.Name, Value: zero(o)})
		}
		if _, err := p.RunPass(ctx, x.name, given, x.graph); err != nil {
			t.Errorf("%v, with every option at its default: %v", x, explained(err))
			return
		}
		_, err := p.RunPass(ctx, x.name, append(given, pipeline.Setting{Name: "no-such-option", Value: "1"}), x.graph)
		if f, ok := host.IsFault(err); !ok || f.Kind != host.Failed {
			t.Errorf("%v, with an option that it does not have: expected a refusal, found %v", x, err)
		}
		p.Close()
		if p = s.start(ctx, t); p == nil {
			p = &host.Plugin{}
			return
		}
	}
}

// zero gives an option's default as text.
func zero(o pipeline.Option) string {
	switch {
	case o.Default != "":
		return o.Default
	case o.Type == pipeline.Bool:
		return "false"
	case o.Type == pipeline.Int || o.Type == pipeline.Float:
		return "0"
	}
	return ""
}

func checkLarge(ctx context.Context, s *Subject, t T) {
	p := s.start(ctx, t)
	if p == nil {
		return
	}
	defer p.Close()
	g := Large(s.large())
	for _, pass := range p.Description.Passes {
		if pass.Needs > pipeline.OperationExpression {
			continue
		}
		began := time.Now()
		if _, err := p.RunPass(ctx, pass.Name, nil, g); err != nil {
			t.Errorf("%s over %d operations: %v", pass.Name, s.large(), explained(err))
			return
		}
		t.Logf("%s over %d operations: %v", pass.Name, s.large(), time.Since(began).Round(time.Millisecond))
	}
}

func (s *Subject) large() int {
	if s.Large > 0 {
		return s.Large
	}
	return 20000
}

func checkCancel(ctx context.Context, s *Subject, t T) {
	g := Large(s.large())
	for _, wait := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond} {
		p := s.start(ctx, t)
		if p == nil {
			return
		}
		for _, pass := range p.Description.Passes {
			if pass.Needs > pipeline.OperationExpression {
				continue
			}
			stopped := errors.New("stopped")
			work, cancel := context.WithCancelCause(ctx)
			timer := time.AfterFunc(wait, func() { cancel(stopped) })
			_, err := p.RunPass(work, pass.Name, nil, g)
			timer.Stop()
			cancel(nil)
			if err != nil && !errors.Is(err, stopped) {
				t.Errorf("%s, cancelled after %v: %v", pass.Name, wait, explained(err))
			}
			break // after a cancelled run the plugin is not used again
		}
		p.Close()
		if p.Forced() {
			t.Errorf("cancelled after %v it did not end within %v, and was killed", wait, s.grace())
		}
	}
}

func checkTexts(ctx context.Context, s *Subject, t T) {
	p := s.start(ctx, t)
	if p == nil {
		return
	}
	defer p.Close()
	lib, err := library(p)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	if _, err := host.Rows(p.Description, nil, lib); err != nil {
		t.Errorf("%v", err)
	}
	for _, name := range lib.Names() {
		decl, _ := lib.Find(name)
		if _, own := kernels.Builtin().Find(name); !own && strings.TrimSpace(decl.Doc) == "" {
			t.Errorf("kernel %s has no text", name)
		}
	}
}

func checkBackends(ctx context.Context, s *Subject, t T) {
	p := s.start(ctx, t)
	if p == nil {
		return
	}
	defer p.Close()
	if len(p.Description.Backends) == 0 {
		return
	}
	for _, b := range p.Description.Backends {
		target := schedule.Host
		if len(b.Devices) > 0 {
			target = b.Devices[0]
		}
		graphs, err := s.graphs(target)
		if err != nil {
			t.Errorf("the corpus: %v", err)
			return
		}
		for _, g := range graphs {
			if g.stage != pipeline.ScheduledKernels {
				continue
			}
			first, ok := emit(ctx, p, b.Name, g.Graph, t)
			if second, again := emit(ctx, p, b.Name, g.Graph, t); !ok || !again {
				return
			} else if first != second {
				t.Errorf("%s over %s: the files are not the same every time", b.Name, g.File)
			}
		}
	}
}

// emit runs a back end and gives its files as one text.
func emit(ctx context.Context, p *host.Plugin, backend string, g *ir.Graph, t T) (string, bool) {
	dir, err := os.MkdirTemp("", "tapc-conformance-")
	if err != nil {
		t.Errorf("%v", err)
		return "", false
	}
	defer os.RemoveAll(dir)
	made, err := p.Emit(ctx, host.Request{Backend: backend, Program: "model", Dir: dir}, g)
	if err != nil {
		t.Errorf("%s over %s: %v", backend, g.File, explained(err))
		return "", false
	}
	all := ""
	for _, name := range made.Files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%v", err)
			return "", false
		}
		all += name + "\x00" + string(text) + "\x00"
	}
	return all, true
}
