// Package plans is the command `tapc plan`: it searches for plans of a graph on a machine, and shows, records and picks those that make the best
// trade-offs.
//
// It must not price or search anything itself. Read next: search/layouts, the plans that there are, and search, which looks among them.
package plans

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/programflags"
	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/cmd/tapc/signals"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/inline"
	"tensortapestry.org/tapc/plugins/explore"
	"tensortapestry.org/tapc/plugins/proto"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
)

// Help is the text of --help.
const Help = `Search for the best trade-offs between the time of a graph on the devices of a machine, the
memory of each and the bytes that they send: how each operation is cut, also along reduced
dimensions (--allow reassociate), how each tensor is kept, on which mesh, and decisions about
the graph, as which branches choices take that it holds open: docs/search.md lists what
--space names, and says how plans are priced. Nothing is run.

Small spaces are gone through. Others are searched in rounds, from the plans that dynamic
programming finds; what comes out depends on --seed and the rounds alone, not on -j, and a time
budget only says which round is the last. Ctrl-C keeps what was found.

--frontier writes all of it; --resume goes on from such a file as if it had not ended, with
--rounds up to so many in all; and --pick writes one plan, which build,
run and opt take with --plan: that of least time, memory or sent bytes, the knee, or a
number of the table. It holds the permissions of --allow. --schema prints what such files are.`

// Flags say what is planned, and how long.
type Flags struct {
	settings
	Schema   bool // that of plan files is asked for, and nothing else
	allow    programflags.Arithmetic
	running  running
	resume   string
	frontier string
	pick     string
	output   string
	progress progress.Flag
	set      *pflag.FlagSet
}

type settings struct {
	machine, device, memory string
	devices                 int64
	objectives, space       []string
}

type running struct {
	rounds, workers int
	budget          time.Duration
	seed            uint64
	fuel            map[string]int
}

// Add adds the flags to a command's.
func (f *Flags) Add(fs *pflag.FlagSet) {
	f.set = fs
	fs.StringVar(&f.machine, "machine", "", "machine to plan for: a name that tapc machine lists, or the path of a machine file")
	fs.StringVar(&f.device, "device", "", "kind of device of the machine, as cpu or cuda (default: that of the first)")
	fs.Int64Var(&f.devices, "devices", 0, "how many devices to plan for (default: all of the kind)")
	fs.StringVar(&f.memory, "max-memory", "", "memory that a plan may take on each device, as 8GiB (default: what the machine has)")
	fs.StringSliceVar(&f.objectives, "objective", []string{layouts.Time, layouts.Memory}, "what is minimised, of "+strings.Join(layouts.Objectives, ", "))
	fs.StringSliceVar(&f.space, "space", slices.DeleteFunc(slices.Clone(variants.Words), func(word string) bool { return word == variants.Stages }), "what is searched beside the cuts of operations, of "+strings.Join(variants.Words, ", ")+
		", or none; and a mesh, mesh=2x4")
	fs.IntVar(&f.running.rounds, "rounds", -1, "rounds of the search (default: until more of them are worth nothing)")
	fs.DurationVar(&f.running.budget, "time-budget", 0, "begin no round after this time, as 60s")
	fs.Uint64Var(&f.running.seed, "seed", 0, "of the random choices")
	fs.StringToIntVar(&f.running.fuel, "fuel", nil, "use mutators so often at most: `NAME=N`, with commas between (docs/search.md lists them)")
	fs.IntVarP(&f.running.workers, "jobs", "j", runtime.GOMAXPROCS(0), "cores that price plans")
	fs.StringVar(&f.resume, "resume", "", "go on from this frontier `FILE`")
	fs.StringVar(&f.frontier, "frontier", "", "write the frontier to this `FILE`, as JSON (docs/search.md)")
	fs.StringVar(&f.pick, "pick", "", "write a plan: that of least time, memory or sent, the knee, or a number of the table")
	fs.StringVarP(&f.output, "output", "o", "-", "where --pick writes the plan")
	fs.BoolVar(&f.Schema, "schema", false, "print the JSON schema of plan files")
	f.progress.Add(fs)
	f.allow.Add(fs)
	programflags.Machine(fs)
	flagnames.Words(fs, "objective", layouts.Objectives)
	flagnames.Entries(fs, "space")
	flagnames.Entries(fs, "fuel")
	flagnames.Later(fs, "device", "pick")
	flagnames.Texts(fs, "max-memory", "resume")
	flagnames.Files(fs, flagnames.Written, "frontier", "output")
}

// Work is what the command does with a graph that was read.
type Work struct {
	Graph   *ir.Graph
	Kernels *kernels.Library
	File    string    // the name of the graph's file
	Log     io.Writer // where progress is shown, as --progress says
	Plugins []explore.Source
	Write   func(ctx context.Context, name string, write func(io.Writer) error) error
}

// Check refuses flags that say nothing, before a graph is read.
func (f *Flags) Check() error {
	switch {
	case f.Schema:
		return diag.Usage("--schema is that of all plan files: expected no file beside it")
	case f.machine == "":
		return diag.Usage("plans are for a machine: expected --machine=NAME, of those that tapc machine lists, or --machine=FILE")
	case f.devices < 0 || f.set.Changed("devices") && f.devices == 0 || f.devices > planfile.MaxDevices:
		return diag.Usage("--devices=%d: expected 1 to %d devices", f.devices, planfile.MaxDevices)
	case f.set.Changed("rounds") && f.running.rounds < 0:
		return diag.Usage("--rounds=%d: expected a number of rounds", f.running.rounds)
	case f.set.Changed("time-budget") && f.running.budget <= 0:
		return diag.Usage("--time-budget=%s: expected a time, as 60s", f.running.budget)
	case f.running.workers < 1:
		return diag.Usage("-j %d: expected a number of cores", f.running.workers)
	case f.set.Changed("output") && f.pick == "":
		return diag.Usage("-o is where --pick writes a plan: expected --pick beside it")
	}
	return cmp.Or(f.checkPick(), f.allow.Check(0))
}

func (f *Flags) checkPick() error {
	n, err := strconv.Atoi(f.pick)
	if f.pick == "" || f.pick == knee || err == nil && n > 0 || slices.Contains(f.objectives, f.pick) {
		return nil
	}
	return diag.Unknown("value of --pick", f.pick, append(slices.Clone(f.objectives), knee, "1"))
}

const knee = "knee"

// Space makes the space that the flags ask for.
func (f *Flags) Space(ctx context.Context, w *Work) (*variants.Space, error) {
	m, err := machine.Find(f.machine)
	if err != nil {
		return nil, err
	}
	s := layouts.Settings{Machine: m, Kind: f.device, Devices: f.devices, Objectives: f.objectives, Allow: f.allow.Set}
	if s.MaxMemory, err = size(f.memory); err != nil {
		return nil, err
	}
	if err := f.parts(&s); err != nil {
		return nil, err
	}
	return variants.New(ctx, w.Graph, w.Kernels, s)
}

// size reads an amount of memory, as 8GiB or 8 GiB; "" is none.
func size(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	at := strings.LastIndexAny(text, "0123456789.") + 1
	v, err := machine.Bytes.Parse(text[:at] + " " + strings.TrimSpace(text[at:]))
	if err != nil || v == 0 {
		return 0, diag.Usage("--max-memory=%s: expected an amount of memory, as 8GiB", text)
	}
	return v, nil
}

// parts reads --space.
func (f *Flags) parts(s *layouts.Settings) error {
	for _, word := range f.space {
		axes, isMesh := strings.CutPrefix(word, "mesh=")
		switch {
		case isMesh:
			n := int64(1)
			for _, text := range strings.Split(axes, "x") {
				size, err := strconv.ParseInt(text, 10, 64)
				if err != nil || size < 1 || size > planfile.MaxDevices || n*size > planfile.MaxDevices {
					return diag.Usage("--space: %s is no mesh: expected one to three sizes, as mesh=2x4", word)
				}
				s.Mesh, n = append(s.Mesh, size), n*size
			}
			if len(s.Mesh) > 3 {
				return diag.Usage("--space: %s: expected one to three sizes, found %d", word, len(s.Mesh))
			}
			if f.devices != 0 && f.devices != n {
				return diag.Usage("--space: %s: expected sizes whose product is %d, as --devices says", word, f.devices)
			}
			s.Devices = n
		case word == "none" && !slices.ContainsFunc(f.space, func(other string) bool { return slices.Contains(variants.Words, other) }):
		case word == "none":
			return diag.Usage("--space=%s: expected none alone, or beside a mesh", strings.Join(f.space, ","))
		case !slices.Contains(variants.Words, word):
			return diag.Unknown("word of --space", word, append(slices.Clone(variants.Words), "none", "mesh=2x4"))
		default:
			s.Parts = append(s.Parts, word)
		}
	}
	if s.Mesh != nil && slices.Contains(s.Parts, variants.Stages) {
		return diag.Usage("--space=%s: stages have meshes of their own: expected no mesh beside them", strings.Join(f.space, ","))
	}
	return nil
}

// worthless is the part of a cost by which plans differ that nobody would tell apart.
const worthless = 0.002

// enumerated is how many plans a space has at most that is gone through.
const enumerated = 200_000

// Run searches, and writes what was found.
func (f *Flags) Run(ctx context.Context, w *Work) error {
	if err := inline.All(w.Graph, w.Kernels); err != nil {
		return err
	}
	x, err := f.Space(ctx, w)
	if err != nil {
		return err
	}
	searched, said, err := f.extend(ctx, x, w.Plugins)
	if err != nil {
		return err
	}
	if err := f.checkFuel(searched); err != nil {
		return err
	}
	r := &Result{Space: x, searched: searched, extended: said != "", flags: f, File: w.File, digest: x.Digest() + digest(said)}
	if f.resume != "" {
		if err := r.resume(f.resume); err != nil {
			return err
		}
	}
	if f.resume != "" || r.extended || !r.enumerate() {
		r.search(ctx, w.Log)
	}
	if err := r.walk(); err != nil {
		return err
	}
	if r.State.Fault != nil && r.State.Why == "failed" { // what was found before is kept
		return cmp.Or(r.keep(context.WithoutCancel(ctx), w), r.State.Fault)
	}
	return cmp.Or(r.write(context.WithoutCancel(ctx), w), signals.Keeping(ctx))
}

// extend lets plugins take part in the search.
func (f *Flags) extend(ctx context.Context, x *variants.Space, plugins []explore.Source) (search.Space, string, error) {
	s := &explore.Space{Space: x, Devices: int64(x.Devices()), Machine: f.machine, Objectives: f.objectives}
	for i := range x.Genes() {
		name, values := x.Gene(i)
		s.Genes = append(s.Genes, &proto.Space_Gene{Name: name, Values: values})
	}
	return explore.Extend(ctx, plugins, s)
}

// digest is of what plugins say that they provide; "" if there are none.
func digest(said string) string {
	if said == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(said))
	return hex.EncodeToString(sum[:4])
}

// checkFuel refuses fuel of mutators that a space does not have.
func (f *Flags) checkFuel(x search.Space) error {
	names := search.Names(x)
	for _, name := range slices.Sorted(maps.Keys(f.running.fuel)) {
		if !slices.Contains(names, name) {
			return diag.Unknown("mutator of --fuel", name, names)
		}
		if n := f.running.fuel[name]; n < 0 {
			return diag.Usage("--fuel=%s=%d: expected how often it may be used", name, n)
		}
	}
	return nil
}

// enumerate goes through all plans, if they are few.
func (r *Result) enumerate() (ok bool) {
	r.State = &search.State{Why: "all"}
	if r.Frontier, _, r.State.Tried, ok = r.Space.Enumerate(enumerated); !ok {
		return false
	}
	r.Proof = &layouts.Proof{Exact: true}
	for k := range r.flags.objectives {
		if i := r.Frontier.Best(k); i >= 0 {
			r.Proof.Bounds = append(r.Proof.Bounds, r.Frontier.Points[i].Price.Costs[k])
		} else {
			r.Proof.Bounds = append(r.Proof.Bounds, 0)
		}
	}
	return true
}

// search does it in rounds.
func (r *Result) search(ctx context.Context, log io.Writer) {
	o := search.Options{Seed: r.flags.running.seed, Rounds: r.flags.running.rounds, Workers: r.flags.running.workers, Resume: r.from.points, Memory: r.from.memory, Near: worthless, Fuel: r.flags.running.fuel}
	if r.flags.running.budget > 0 {
		o.Until = time.Now().Add(r.flags.running.budget)
	}
	r.Proof = r.Space.Prove(o.Workers)
	for i := 0; o.Memory == nil && i < len(r.Proof.Trials); i++ {
		t := r.Proof.Trials[i]
		o.Resume = append(o.Resume, search.Point{Trial: t, From: "dynamic programming"})
	}
	switch l := (&live{to: log, result: r}); r.flags.progress.Form(log) {
	case progress.Terminal:
		o.Watch = l.show
		defer l.end()
	case progress.JSON:
		o.Watch = l.line
		defer func() { progress.Line(log, r.State.Round, 0, "") }()
	}
	r.State = search.Run(ctx, r.searched, o)
	r.Frontier = r.State.Frontier
}

// keep writes the frontier file, if one is asked for.
func (r *Result) keep(ctx context.Context, w *Work) error {
	if r.flags.frontier == "" {
		return nil
	}
	return w.Write(ctx, r.flags.frontier, func(to io.Writer) error { return r.JSON(to, w.Kernels) })
}

// write writes what the flags ask for.
func (r *Result) write(ctx context.Context, w *Work) error {
	f := r.flags
	if err := r.keep(ctx, w); err != nil {
		return err
	}
	if len(r.Frontier.Points) == 0 {
		return diag.Errorf("TAP2905", "plan", diag.Location{}, "no plan of %s was found that fits the memory of a device", f.machine).
			Want(fmt.Sprintf("at most %s on each device", machine.Bytes.Format(r.Space.MaxMemory())), "more in each plan that was tried").
			WithHint("more --devices, more --max-memory, or --allow reassociate may help")
	}
	if f.pick == "" {
		return w.Write(ctx, "-", r.Print)
	}
	i, err := r.picked()
	if err != nil {
		return err
	}
	p, err := r.planOf(i, w.Kernels)
	if err != nil {
		return err
	}
	return w.Write(ctx, f.output, func(to io.Writer) error { return planfile.Write(to, p) })
}

// planOf gives the plan of a point, with the permissions that it was made with.
func (r *Result) planOf(point int, lib *kernels.Library) (*planfile.Plan, error) {
	return r.Space.Plan(r.Frontier.Points[point].Trial, lib)
}

// picked gives the number of the point that --pick names.
func (r *Result) picked() (int, error) {
	if r.flags.pick == knee {
		return r.Frontier.Knee(), nil
	}
	if k := slices.Index(r.flags.objectives, r.flags.pick); k >= 0 {
		return r.Frontier.Best(k), nil
	}
	n, _ := strconv.Atoi(r.flags.pick)
	if n > len(r.Frontier.Points) {
		return 0, diag.Usage("--pick %d: expected 1 to %d, the points of the frontier", n, len(r.Frontier.Points))
	}
	return n - 1, nil
}
