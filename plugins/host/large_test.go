package host_test

import (
	"context"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/plugins/host"
)

// largeVariable asks for the tests that take several times 4 GiB of memory: TAPC_TEST_LARGE=1.
const largeVariable = "TAPC_TEST_LARGE"

// TestMoreThanFourGiB sends a graph of more than 2^32 bytes to a plugin, which holds all of it, and takes it back.
func TestMoreThanFourGiB(t *testing.T) {
	if os.Getenv(largeVariable) != "1" {
		t.Skipf("set %s=1 to send a graph of more than 4 GiB, which takes several times that in memory", largeVariable)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	text := strings.Repeat("tapestry", 128<<10) // 1 MiB, which all the notes here share and nobody's copies do
	g := ir.New()
	const notes = 4100
	for range notes {
		g.Add(&tensorops.Note{Message: text}, "")
	}
	p := open(t, misbehaving(t, "good"), host.Options{Limits: limits(func(l *host.Limits) { l.Memory, l.Run = 8<<30, 10*time.Minute })})
	began := time.Now()
	a, err := p.RunPass(context.Background(), "pass", nil, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes there and back in %v", notes*len(text), time.Since(began).Round(time.Millisecond))
	if a.Unchanged || a.Graph.Len() != notes {
		t.Fatalf("the answer has %d nodes, unchanged: %v", a.Graph.Len(), a.Unchanged)
	}
	for n := range a.Graph.Nodes() {
		if n.Body.(*tensorops.Note).Message != text {
			t.Fatalf("note %d has another text", n.ID)
		}
	}
}
