package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/configs"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/alike"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
)

// TestAlikeKernels writes each kernel of random graphs for itself. Kernels with one key have one text, also in different graphs, so a function that carries out one of
// them carries out the others.
func TestAlikeKernels(t *testing.T) {
	graphs := uint64(300)
	if testkit.Full() {
		graphs = 5000
	}
	type written struct {
		text, where string
	}
	known, texts, all := map[string]written{}, map[string]bool{}, 0
	for seed := range graphs {
		g, err := generate(seed, 16)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, _, err := g.schedules(context.Background())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		p, err := tensorops.ProgramOf(x)
		if err != nil {
			t.Fatal(err)
		}
		m := unit.NewMemory(x, p.Constants)
		for n := range x.Nodes() {
			k, ok := n.Body.(*schedule.Kernel)
			if !ok || k.KeepsAll(m.Buffers) {
				continue
			}
			key, text := alikeText(t, k, m)
			where := fmt.Sprintf("seed %d, %s", seed, x.Name(n.ID))
			if first, ok := known[key]; ok && first.text != text {
				t.Fatalf("%s and %s have the same key and other texts:\n%s\n%s\n%s", first.where, where, key, first.text, text)
			}
			texts[text] = true
			known[key] = written{text, where}
			all++
		}
	}
	t.Logf("%d kernels, %d keys, %d texts", all, len(known), len(texts))
}

// alikeText gives the key of a kernel, and its text without comments.
func alikeText(t *testing.T, k *schedule.Kernel, m *unit.Memory) (key, text string) {
	chooser, a := configs.Chooser{For: isa.Scheduled}, nest.Analyze(k, m.Buffers)
	config, err := chooser.Decided(a)
	if err != nil {
		t.Fatal(err)
	}
	f, err := chooser.Read(a, config)
	if err != nil {
		t.Fatal(err)
	}
	u := unit.New(m, isa.Scheduled, "")
	u.V.Allow = k.Allow
	u.Begin(f.Workspaces)
	text, _ = f.Write(u, "k")
	if err := u.Err(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	return alike.Key(k, config, m.Buffers, func(t ir.NodeID) int {
		if n, ok := m.Block.Of[t]; ok {
			return n
		}
		return len(m.Block.Constants) + int(t)
	}), out.String()
}
