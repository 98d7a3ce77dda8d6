package tune

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/constraints"
	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
)

func textOfGraph(t *testing.T, g *ir.Graph) string {
	t.Helper()
	var b strings.Builder
	if err := text.Write(&b, g, text.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// other finds what a candidate is called that the back end offers for a kernel and that is not chosen: the one of a number.
func other(t *testing.T, k *Kernel, number int) string {
	t.Helper()
	a, chooser := k.Analysis(), realLab(t).Chooser()
	_, target := chooser.Target()
	def := textOf(k.Body().For(target))
	for _, c := range chooser.Candidates(a) {
		if c.Config != nil && state(chooser, a, c.Config) == nil && textOf(c.Config) != def {
			if number--; number == 0 {
				return textOf(c.Config)
			}
		}
	}
	t.Fatal("there are not so many candidates")
	return ""
}

// TestTune: equal kernels are one; the fastest that is found is chosen, and given to all of them; what is not faster changes nothing; a second run measures
// nothing and gives the same schedule.
func TestTune(t *testing.T) {
	store := shelf{}
	g := scheduled(t, twice, 0)
	list, err := Kernels(g, settings(t, store, nil))
	if err != nil || len(list) != 2 {
		t.Fatalf("found %d kernels, expected 2: %v", len(list), err)
	}
	product := list[0]
	if len(product.Nodes) != 2 {
		product = list[1]
	}
	if len(product.Nodes) != 2 {
		t.Fatal("the two products are not one")
	}
	fast, faster := other(t, product.Kernel, 1), other(t, product.Kernel, 3)
	lab := &fake{times: map[string]float64{fast: 0.9, faster: 0.7}}
	var warned []string
	s := settings(t, store, lab)
	s.All = true
	if err := Run(t.Context(), list, s); err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if !r.Complete() || r.Tuned() != (r == product) {
			t.Errorf("%s: complete %v, tuned %v", r.Kernel.Name, r.Complete(), r.Tuned())
		}
	}
	if got := textOf(product.Entry.Best()); got != faster || product.Entry.Gain.Ratio != 0.7 || product.Entry.Gain.Sure < 0.99 {
		t.Errorf("chosen %s, %+v; expected %s", got, product.Entry.Gain, faster)
	}
	if changed := Apply(g, list); changed != 2 {
		t.Errorf("%d kernels changed, expected 2", changed)
	}
	again, none := scheduled(t, twice, 0), &fake{}
	second := tuned(t, again, settings(t, store, none))
	Apply(again, second)
	if none.built > 0 || textOfGraph(t, again) != textOfGraph(t, g) || len(warned) > 0 {
		t.Errorf("the second run built %d programs, and gave\n%s\nexpected\n%s", none.built, textOfGraph(t, again), textOfGraph(t, g))
	}
	if plain := scheduled(t, twice, 0); textOfGraph(t, plain) == textOfGraph(t, g) {
		t.Error("the chosen config changes nothing")
	}
}

// TestReassociate: what computes other values is chosen where sums may be taken in another order, and nowhere else.
func TestReassociate(t *testing.T) {
	for _, allow := range []permission.Set{0, permission.LostNaN, permission.Reassociate} {
		g := scheduled(t, twice, allow)
		s := settings(t, shelf{}, nil)
		list, err := Kernels(g, s)
		if err != nil {
			t.Fatal(err)
		}
		s.All = true
		f := s.Lab.(*fake)
		f.times, f.differ = map[string]float64{}, map[string]bool{}
		for _, r := range list {
			x := other(t, r.Kernel, 1)
			f.times[x], f.differ[x] = 0.5, true
		}
		if err := Run(t.Context(), list, s); err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.Tuned() != allow.Has(permission.Reassociate) {
				t.Errorf("with %q: tuned %v", allow, r.Tuned())
			}
		}
	}
}

// TestInterrupted: wherever a run is interrupted, the next goes on there: it measures nothing twice, and ends with what one run ends with.
func TestInterrupted(t *testing.T) {
	g := scheduled(t, twice, 0)
	first, err := Kernels(g, settings(t, shelf{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	lab := func() *fake {
		return &fake{times: map[string]float64{other(t, first[0].Kernel, 1): 0.8, other(t, first[1].Kernel, 1): 0.9}}
	}
	whole := tuned(t, g, settings(t, shelf{}, lab()))
	want, trials := map[string]string{}, map[string]int{}
	for _, r := range whole {
		want[r.Kernel.Name], trials[r.Kernel.Name] = textOf(r.Entry.Best()), len(r.Entry.Trials)
	}
	for _, at := range []int{1, 2, 3, 7, 12} {
		store, f := shelf{}, lab()
		ctx, cancel := context.WithCancel(t.Context())
		f.stop, f.atBuild = cancel, at
		s := settings(t, store, f)
		list, err := Kernels(g, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := Run(ctx, list, s); err == nil {
			t.Fatalf("%d: the run was not interrupted", at)
		}
		kept := 0
		for _, r := range list {
			kept += r.Measured
		}
		f2 := lab()
		for _, r := range tuned(t, g, settings(t, store, f2)) {
			if !r.Complete() || textOf(r.Entry.Best()) != want[r.Kernel.Name] {
				t.Errorf("%d: %s: complete %v with %s, expected %s", at, r.Kernel.Name, r.Complete(), textOf(r.Entry.Best()), want[r.Kernel.Name])
			}
			if n := len(r.Entry.Trials); n != trials[r.Kernel.Name] {
				t.Errorf("%d: %s has %d trials, expected %d", at, r.Kernel.Name, n, trials[r.Kernel.Name])
			}
			kept += r.Measured
		}
		if n := trials[whole[0].Kernel.Name] + trials[whole[1].Kernel.Name]; kept != n {
			t.Errorf("%d: %d races in both runs, expected %d", at, kept, n)
		}
	}
}

// TestBudget: without time nothing is measured, and each kernel has its part of what there is.
func TestBudget(t *testing.T) {
	g := scheduled(t, twice, 0)
	now := time.Unix(0, 0)
	lab := &fake{}
	s := settings(t, shelf{}, lab)
	s.Budget, s.Now = time.Second, func() time.Time { now = now.Add(time.Hour); return now }
	for _, r := range tuned(t, g, s) {
		if r.Complete() || r.Measured > 0 || r.Tuned() {
			t.Errorf("%s: complete %v, %d races, with no time", r.Kernel.Name, r.Complete(), r.Measured)
		}
	}
	now = time.Unix(0, 0)
	s.Now = func() time.Time { now = now.Add(10 * time.Millisecond); return now }
	for _, r := range tuned(t, g, s) {
		if r.Measured == 0 {
			t.Errorf("%s: it has no part of the time", r.Kernel.Name)
		}
	}
}

// TestDamage: an entry that is not as it was written is refused by its name, and measured again. So is one whose config is written as other C by now.
func TestDamage(t *testing.T) {
	g, dir := scheduled(t, twice, 0), t.TempDir()
	cache, err := filecache.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	s := settings(t, cache, &fake{})
	list := tuned(t, g, s)
	key, good := keyOf(list[0].key), map[string]string{}
	content, ok := cache.Get(key)
	if !ok {
		t.Fatal("there is no entry")
	}
	good["nothing"] = string(content)
	for what, change := range map[string]func(string) string{
		"nothing":        func(x string) string { return x },
		"no JSON":        func(x string) string { return x[1:] },
		"another format": func(x string) string { return strings.Replace(x, `"format": 1`, `"format": 2`, 1) },
		"another kernel": func(x string) string { return strings.Replace(x, `"kernel `, `"kernel 0`, 1) },
		"another field":  func(x string) string { return strings.Replace(x, `"format"`, `"fromat"`, 1) },
		"another config": func(x string) string { return strings.ReplaceAll(x, `contraction`, `contradiction`) },
		"another role":   func(x string) string { return strings.ReplaceAll(x, `\"role\":\"m\"`, `\"role\":\"q\"`) },
		"other sizes":    func(x string) string { return strings.Replace(x, `\"sizes\":[`, `\"sizes\":[1.5,`, 1) },
	} {
		cache.Put(key, []byte(change(string(content))))
		var warned []string
		lab := &fake{}
		s := settings(t, cache, lab)
		s.Warn = func(d diag.Diagnostic) { warned = append(warned, d.Message) }
		again := tuned(t, g, s)
		damaged := what != "nothing"
		if damaged != (lab.built > 0) || damaged != (len(warned) == 1 && strings.Contains(warned[0], filecache.Name(key))) {
			t.Errorf("%s: %d programs built, warned of %q", what, lab.built, warned)
		}
		if !again[0].Complete() {
			t.Errorf("%s: it was not measured again", what)
		}
	}
	if text, _ := cache.Get(key); string(text) != string(content) {
		t.Error("the entry is another than at first")
	}
	const code = `"code": "`
	first, last := strings.Index(string(content), code)+len(code), strings.LastIndex(string(content), code)+len(code)
	for what, at := range map[string]int{"of the choice": first, "of a trial": last} {
		changed := string(content[:at]) + "0" + string(content[at:])
		cache.Put(key, []byte(changed))
		lab := &fake{}
		again := tuned(t, g, settings(t, cache, lab))
		if lab.built == 0 || !again[0].Complete() {
			t.Errorf("what was measured of other C %s is used", what)
		}
		if text, _ := cache.Get(key); at == last && (lab.built > 3 || string(text) == changed) {
			t.Errorf("%d programs are built for one trial, and the entry is\n%s", lab.built, text)
		}
	}
}

// TestWellFormed: all that is measured is well-formed, so that a schedule that it is written into is read again.
func TestWellFormed(t *testing.T) {
	g := scheduled(t, twice, 0)
	s := settings(t, shelf{}, &fake{})
	s.All = true
	list, env := tuned(t, g, s), constraints.Environment()
	for _, r := range list {
		for _, x := range r.Entry.Trials {
			c, err := readConfig(x.Config)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range r.Nodes {
				give(g.Node(id).Body.(*schedule.Kernel), c)
			}
			if err := env.Verify(t.Context(), g).Err(); err != nil {
				t.Fatalf("%s: %v", x.Says, err)
			}
		}
	}
}

// TestRefused: a candidate that cannot be built is refused with the reason, and the next one is measured.
func TestRefused(t *testing.T) {
	g := scheduled(t, twice, 0)
	lab := &fake{fail: 3} // the default is built first, once as what is to be beaten and once as the present choice
	refused := 0
	for _, r := range tuned(t, g, settings(t, shelf{}, lab)) {
		for _, x := range r.Entry.Trials {
			if x.Outcome == Refused && x.Reason == "it cannot be built" {
				refused++
			}
		}
		if !r.Complete() {
			t.Errorf("%s is not complete", r.Kernel.Name)
		}
	}
	if refused != 1 {
		t.Errorf("%d candidates are refused, expected 1", refused)
	}
}

// TestKey: what figures hold for is in the key: the graph's layouts, types and permissions, threads and flags.
func TestKey(t *testing.T) {
	b := realLab(t)
	seen := map[string]string{}
	add := func(what string, b *cpu.Lab, graph string, allow permission.Set) {
		t.Helper()
		g := scheduled(t, graph, allow)
		for n := range g.Nodes() {
			if _, ok := n.Body.(*schedule.Kernel); !ok {
				continue
			}
			k, err := Isolate(g, n.ID)
			if err != nil {
				t.Fatal(err)
			}
			key, err := key(b, k, k.Body().For(b.Target.Target.Name()))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(key, "\n")
			if was, ok := seen[text]; ok {
				t.Errorf("%s has the key of %s", what, was)
			}
			seen[text] = what
		}
	}
	one := "%x = tensor float32 [0:40, 0:64]\n%w = tensor float32 [0:64, 0:48]\n%y = tensor float32 [0:40, 0:48]\noperation op:matmul (X: %x, W: %w) -> (Z: %y)\n"
	add("a product", b, one, 0)
	add("doubles", b, strings.ReplaceAll(one, "float32", "float64"), 0)
	add("another size", b, strings.ReplaceAll(one, "48", "50"), 0)
	add("a permission", b, one, permission.Reassociate)
	add("a transposed factor", b, "%x = tensor float32 [0:64, 0:40]\n%t = tensor float32 [0:40, 0:64]\n%w = tensor float32 [0:64, 0:48]\n%y = tensor float32 [0:40, 0:48]\n"+
		"operation op:permute {perm: [1, 0]} (tensor: %x) -> (result: %t)\noperation op:matmul (X: %t, W: %w) -> (Z: %y)\n", 0)
	threads, flags, other := *b, *b, *b
	threads.Threads++
	flags.Target.Flags = append([]string{"-O1"}, flags.Target.Flags...)
	cc := *b.Compiler
	cc.Path = "/bin/sh"
	other.Compiler = &cc
	add("more threads", &threads, one, 0)
	add("other flags", &flags, one, 0)
	add("another compiler", &other, one, 0)
}

// TestAllAfterUsual: what a run with --all measures beyond a usual one is not taken for measured after the usual one, and a usual one after that measures nothing.
func TestAllAfterUsual(t *testing.T) {
	store := shelf{}
	g := scheduled(t, twice, 0)
	races := func(all bool) (n int) {
		s := settings(t, store, &fake{})
		s.All = all
		for _, r := range tuned(t, g, s) {
			if n += r.Measured; !r.Complete() {
				t.Errorf("all %v: %s is not complete", all, r.Kernel.Name)
			}
		}
		return n
	}
	if usual, all := races(false), races(true); usual == 0 || all == 0 {
		t.Errorf("%d races, and %d with all candidates; expected some of both", usual, all)
	}
	if again, usual := races(true), races(false); again+usual > 0 {
		t.Errorf("%d and %d races when all is measured", again, usual)
	}
}

// noRoom is a store that keeps nothing.
type noRoom struct{ shelf }

func (noRoom) Put(filecache.Key, []byte) error { return syscall.ENOSPC }

// TestMachineFails: what fails for the default too, as all does on a full disk, refuses no candidate but ends the run; what is not kept is not passed over. A
// candidate that alone fails is refused (TestRefused).
func TestMachineFails(t *testing.T) {
	g, store := scheduled(t, twice, 0), shelf{}
	s := settings(t, store, &fake{full: 5})
	list, err := Kernels(g, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), list, s); !errors.Is(err, backends.ErrNoMeasure) {
		t.Errorf("nothing can be built: %v", err)
	}
	measured := 0
	for _, r := range list {
		measured += len(r.Entry.Trials)
		for _, x := range r.Entry.Trials {
			if x.Outcome == Refused {
				t.Errorf("%s is refused: %s", x.Says, x.Reason)
			}
		}
	}
	if measured == 0 || len(store) == 0 {
		t.Errorf("%d trials before, %d entries kept; expected some", measured, len(store))
	}
	s = settings(t, noRoom{shelf{}}, &fake{})
	if list, err = Kernels(g, s); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), list, s); !errors.Is(err, backends.ErrNoMeasure) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("nothing can be kept: %v", err)
	}
}
