// Package planfile reads and writes plans: JSON files that say how the operations of a graph are cut and how its tensors lie on a mesh of devices
// (docs/plans.md). It must not import a pass. Read next: passes/shard and passes/propagate, which carry plans out.
package planfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/internal/jsonfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
)

// Version is the version of the schema that this tapc reads and writes.
const Version = 1

// Plan is what a plan file says.
type Plan struct {
	Cuts    []Cut
	Mesh    Mesh
	Tensors []Annotation
	Choices []Choice
	Devices []Device // by number; none if the plan does not say
	Place   []Place

	Recompute   []Recompute
	Permissions permission.Set // beside those that flags give
}

// Recompute names a tensor, by its label, that is computed again for each operation that reads it but the first. From says where it was asked for.
type Recompute struct {
	Tensor string
	From   diag.Location
}

// Choice names a branch of the choices whose operation or result has a label. From says where it was asked for.
type Choice struct {
	Choice, Branch string
	From           diag.Location
}

// Cut is a cut of the operations that Target names: a kernel or a label. From says where it was asked for.
type Cut struct {
	Target string
	Cut    cut.Cut
	From   diag.Location
}

// String names the cut in messages.
func (c Cut) String() string {
	if c.From.File == "" {
		return "--shard " + c.Target
	}
	return fmt.Sprintf("the cut of %s in %s", c.Target, c.From)
}

// ParseCut reads "TARGET=CUT", such as op:linear=2x2: the target, and the cut as package cut reads it.
func ParseCut(text string) (Cut, error) {
	at := strings.LastIndexByte(text, '=')
	if at <= 0 {
		return Cut{}, diag.Usage("--shard %q: expected TARGET=CUT, such as op:linear=2x2", text)
	}
	c, err := cut.Parse(text[at+1:])
	if err != nil {
		return Cut{}, diag.Usage("--shard %q: %v", text, err)
	}
	return Cut{Target: text[:at], Cut: c}, nil
}

// Behind gives the cuts of a plan with those of a list of texts behind them, as if all were in a plan: of several with one target, which a plan has once, the last.
func (p *Plan) Behind(texts []string) ([]Cut, error) {
	list := slices.Clone(p.Cuts)
	for _, text := range texts {
		c, err := ParseCut(text)
		if err != nil {
			return nil, err
		}
		list = append(slices.DeleteFunc(list, func(x Cut) bool { return x.Target == c.Target }), c)
	}
	return list, nil
}

// Annotation says how a tensor, named by its label, lies on the mesh.
type Annotation struct {
	Tensor   string
	Layout   Layout
	Partial  Axes  // along which devices have partial results of it
	Priority int64 // the least is propagated first
	From     diag.Location
}

// Read reads a plan. Errors are diagnostics with the place in the file, or say why it can not be read.
func Read(path string) (*Plan, error) {
	data, err := jsonfile.Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// file is a plan as JSON has it. What doc says of a field is its description in the schema; a form is one that no type of Go has.
type file struct {
	Version *int64          `json:"version" form:"version" doc:"the version of the form"`
	Cuts    []fileCut       `json:"cuts,omitempty" doc:"what is cut, in order; a later cut of an operation replaces an earlier one"`
	Mesh    []fileAxis      `json:"mesh,omitempty" doc:"the axes of the devices, slowest first"`
	Tensors []fileTensor    `json:"tensors,omitempty" doc:"how tensors lie on the mesh"`
	Devices json.RawMessage `json:"devices,omitempty" form:"devices" doc:"how many devices there are, or a list of them; with a mesh, as many as that has"`
	Place   []filePlace     `json:"place,omitempty" doc:"where shards are"`
	Choices []fileChoice    `json:"choices,omitempty" doc:"which branches stand in the place of choices that a graph holds open"`
	Again   []fileAgain     `json:"recompute,omitempty" doc:"tensors that are computed again for each operation that reads them, but the first"`
	Allow   []string        `json:"permissions,omitempty" form:"permissions" doc:"what the program may do to numbers, beside what flags allow"`
	Shard   *[]any          `json:"shard,omitempty"` // of the format without a version
}

type fileCut struct {
	Target string `json:"target" doc:"a kernel or a label"`
	Cut    string `json:"cut" doc:"a cut of the index, as by16x1, m:2 or 2x1/1x4"`
}

type fileChoice struct {
	Choice string `json:"choice" doc:"the label of a choice or of its result"`
	Branch string `json:"branch" doc:"the name of a branch"`
}

type fileAgain struct {
	Tensor string `json:"tensor" doc:"a label"`
}

type fileAxis struct {
	Axis string `json:"axis" doc:"its name"`
	Size int64  `json:"size" form:"size" doc:"the number of devices along it"`
}

type fileTensor struct {
	Tensor   string   `json:"tensor" doc:"a label"`
	Dims     []string `json:"dims" doc:"for each dimension the axis along which it is cut, several with * between, - or nothing for none, and ? behind it where propagation may add some"`
	Partial  []string `json:"partial,omitempty" doc:"axes along which its partial results are not combined yet"`
	Priority int64    `json:"priority,omitempty" doc:"the least is propagated first"`
}

// Parse reads the text of a plan from a file of a name.
func Parse(path string, data []byte) (*Plan, error) {
	r := &reader{path: path, text: data}
	var f file
	if err := jsonfile.Decode(data, &f); err != nil {
		return nil, r.malformed(err)
	}
	if at := r.null(); at >= 0 {
		return nil, r.malformed(&jsonfile.Error{Byte: int64(at) + 1, Words: "null is no value of a plan", Expected: "a value, or no such field", Found: "null"})
	}
	if err := r.check(&f); err != nil {
		return nil, err
	}
	p := &Plan{}
	for _, read := range []func(*Plan, *file) error{r.cuts, r.mesh, r.tensors, r.choices, r.devices, r.place, r.recompute, r.permissions} {
		if err := read(p, &f); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// constraint is the id under which faults of plans are reported.
const constraint = "plan"

// reader reads one file.
type reader struct {
	path   string
	text   []byte
	places map[string]int
}

// check refuses what this tapc does not read.
func (r *reader) check(f *file) error {
	switch {
	case f.Shard != nil:
		return r.fault("TAP0833", "/shard", `the format {"shard": [{"target": …, "parts": [2, 2]}]}, without a version, is no longer read`).
			Want(`{"version": 1, "cuts": [{"target": "op:linear", "cut": "2x2"}]}`, "shard")
	case f.Version == nil:
		return r.fault("TAP0832", "", "the plan does not say its version").Want(fmt.Sprintf(`"version": %d`, Version), "none")
	case *f.Version != Version:
		d := r.fault("TAP0832", "/version", "the plan has a version that this tapc does not read").Want(fmt.Sprintf(`"version": %d`, Version), fmt.Sprint(*f.Version))
		if *f.Version > Version {
			return d.WithHint("a newer tapc wrote it")
		}
		return d
	}
	if len(f.Cuts)+len(f.Tensors)+len(f.Choices)+len(f.Place)+len(f.Again) == 0 {
		return r.fault("TAP0835", "", "the plan asks for nothing").Want(`"cuts", "tensors", "choices", "place" or "recompute"`, "none")
	}
	return nil
}

func (r *reader) cuts(p *Plan, f *file) error {
	seen := map[string]bool{}
	for i, x := range f.Cuts {
		at := fmt.Sprintf("/cuts/%d", i)
		c, err := cut.Parse(x.Cut)
		switch {
		case x.Target == "":
			return r.fault("TAP0836", at, "the cut names no target").Want(`"target": a kernel or a label`, "none")
		case seen[x.Target]:
			return r.fault("TAP0836", at+"/target", "%s is cut twice", x.Target).Want("one cut, whose levels have / between", "another")
		case x.Cut == "":
			return r.fault("TAP0836", at, "the cut of %s is not said", x.Target).Want(`"cut": `+cut.Grammar, "none")
		case err != nil:
			return r.fault("TAP0836", at+"/cut", "the cut of %s is none: %v", x.Target, err).Want(cut.Grammar, short(x.Cut))
		}
		seen[x.Target] = true
		p.Cuts = append(p.Cuts, Cut{Target: x.Target, Cut: c, From: r.at(at)})
	}
	return nil
}

func (r *reader) choices(p *Plan, f *file) error {
	seen := map[string]bool{}
	for i, x := range f.Choices {
		at := fmt.Sprintf("/choices/%d", i)
		switch {
		case x.Choice == "" || x.Branch == "":
			return r.fault("TAP0840", at, "the choice does not say what is chosen").Want(`"choice": a label, and "branch": a name`, fmt.Sprintf("%q and %q", x.Choice, x.Branch))
		case seen[x.Choice]:
			return r.fault("TAP0840", at+"/choice", "%s is chosen twice", x.Choice).Want("one branch for each choice", "another")
		}
		seen[x.Choice] = true
		p.Choices = append(p.Choices, Choice{x.Choice, x.Branch, r.at(at)})
	}
	return nil
}

func (r *reader) recompute(p *Plan, f *file) error {
	seen := map[string]bool{}
	for i, x := range f.Again {
		at := fmt.Sprintf("/recompute/%d", i)
		switch {
		case x.Tensor == "":
			return r.fault("TAP0963", at, "what is recomputed is not said").Want(`"tensor": a label`, "none")
		case seen[x.Tensor]:
			return r.fault("TAP0963", at+"/tensor", "tensor %s is recomputed twice", x.Tensor).Want("each tensor once", "another")
		}
		seen[x.Tensor] = true
		p.Recompute = append(p.Recompute, Recompute{x.Tensor, r.at(at)})
	}
	return nil
}

func (r *reader) permissions(p *Plan, f *file) error {
	for i, word := range f.Allow {
		one, err := permission.Parse(word)
		if err != nil || len(one.Words()) != 1 || p.Permissions.Has(one) {
			return r.fault("TAP0924", fmt.Sprintf("/permissions/%d", i), "this permission is none, or is given twice").
				Want("each at most once of "+strings.Join(permission.Names(), ", "), word)
		}
		p.Permissions |= one
	}
	return nil
}

// malformed is what is no plan by its form, at its line.
func (r *reader) malformed(err error) error {
	loc := diag.Location{File: r.path}
	var e *jsonfile.Error
	if !errors.As(err, &e) {
		return diag.Errorf("TAP0831", constraint, loc, "this is not a plan: %v", err)
	}
	if e.Byte > 0 {
		loc.Line, loc.Column = r.line(min(int(e.Byte)-1, len(r.text)))
	}
	d := diag.Errorf("TAP0831", constraint, loc, "this is not a plan")
	if e.Words != "" {
		d.Message += ": " + e.Words
	}
	if e.Expected != "" {
		d = d.Want(e.Expected, short(e.Found))
	}
	return d
}

// short is a text of a file in a message: its beginning, if it is long.
func short(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("… (%d bytes)", len(text))
}

// fault makes a diagnostic at a JSON pointer.
func (r *reader) fault(code, pointer, format string, args ...any) diag.Diagnostic {
	return diag.Errorf(code, constraint, r.at(pointer), format, args...)
}
