package conformance_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/plugins/conformance"
	"tensortapestry.org/tapc/plugins/supervise"
)

func TestMain(m *testing.M) {
	supervise.Main()
	os.Exit(m.Run())
}

// recorder keeps what a check says.
type recorder struct {
	mu     sync.Mutex
	errors []string
}

func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// TestTheKitFindsFaults runs the kit over programs that do one wrong thing each, and looks which checks fail.
func TestTheKitFindsFaults(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "misbehave")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "../host/testdata/misbehave").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]struct {
		checks []string
		says   string
	}{
		"good":         {nil, ""},
		"exits-3":      {[]string{"start"}, "the license server is down"},
		"stays":        {[]string{"end", "cancel"}, "did not end within 300ms"},
		"panics":       {[]string{"passes"}, "index out of tapestry"},
		"bad-dtype":    {[]string{"passes"}, "breaks a constraint"},
		"other-values": {[]string{"values"}, "linear-relu.tap"},
		"random":       {[]string{"determinism", "concurrency"}, "not the same every time"},
		"deaf":         {[]string{"large"}, "did not finish in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			if err := os.Link(program, path); err != nil {
				t.Fatal(err)
			}
			s := conformance.Subject{Path: path, Large: 300}
			switch name {
			case "deaf":
				s.Limits.Run = 500 * time.Millisecond
			case "stays":
				s.Limits.Grace = 300 * time.Millisecond
			}
			failed, texts := map[string]bool{}, ""
			for _, c := range conformance.Checks() {
				if name == "deaf" && c.Name != "large" { // each run takes its time
					continue
				}
				r := &recorder{}
				c.Run(context.Background(), &s, r)
				failed[c.Name] = len(r.errors) > 0
				texts += strings.Join(r.errors, "\n")
				if failed["start"] {
					break
				}
			}
			for _, c := range want.checks {
				if !failed[c] {
					t.Errorf("the check %s found nothing", c)
				}
			}
			if !strings.Contains(texts, want.says) {
				t.Errorf("nothing says %q:\n%s", want.says, texts)
			}
			if name == "good" && texts != "" {
				t.Errorf("found where nothing is wrong:\n%s", texts)
			}
		})
	}
}

func TestCorpusIsValid(t *testing.T) {
	all, err := conformance.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range append(all, conformance.Large(1000)) {
		if found := tensorops.Environment().Verify(context.Background(), g); found.HasErrors() {
			t.Errorf("%s: %v", g.File, found)
		}
	}
}

func TestChecksAreNamed(t *testing.T) {
	var names []string
	for _, c := range conformance.Checks() {
		if c.Run == nil || !strings.HasSuffix(c.Doc, ".") || slices.Contains(names, c.Name) {
			t.Errorf("check %q has no function, no sentence or a name that is taken", c.Name)
		}
		names = append(names, c.Name)
	}
}
