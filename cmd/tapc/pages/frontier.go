package pages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"tensortapestry.org/tapc/cmd/tapc/plandiff"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/internal/jsonfile"
	"tensortapestry.org/tapc/internal/shellwords"
	"tensortapestry.org/tapc/ir/diag"
)

// frontier is what a page takes of a frontier file: the points with their costs by the names of objectives, and how each was found.
type frontier struct {
	Version    int      `json:"version"`
	Objectives []string `json:"objectives"`
	Machine    string   `json:"machine"`
	Devices    int64    `json:"devices"`
	Graph      string   `json:"graph"`
	Space      string   `json:"space"`
	Allow      string   `json:"allow"`
	Rounds     int      `json:"rounds"`
	Points     []struct {
		Costs map[string]float64 `json:"costs"`
		Mesh  []int64            `json:"mesh"`
		From  string             `json:"from"`
		Round int                `json:"round"`
		Plan  json.RawMessage    `json:"plan"`
		Fault string             `json:"unsaid"`
	} `json:"points"`
}

// units are those of objectives that have one that the page knows.
var units = map[string]string{"time": "s", "memory": "bytes", "sent": "bytes"}

// plot is a frontier as assets/plot.js draws it.
type plot struct {
	Objectives []axis   `json:"objectives"`
	Points     []point  `json:"points"`
	Things     []thing  `json:"things"` // that a plan says something of
	Says       []string `json:"says"`   // each that a plan says, once
}

// thing is what plans say something of.
type thing struct {
	Of        string `json:"of"`
	Otherwise string `json:"otherwise,omitempty"` // what holds in a plan that says nothing of it
}

type axis struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

type point struct {
	Values []float64 `json:"values"`
	Words  []string  `json:"words"`
	Plan   [][2]int  `json:"plan,omitempty"` // numbers of a thing and of what is said of it
}

// numbers gives each key the number of its first use.
type numbers[K comparable] struct {
	of   map[K]int
	list []K
}

func (n *numbers[K]) get(k K) int {
	i, known := n.of[k]
	if !known {
		i = len(n.list)
		n.of[k], n.list = i, append(n.list, k)
	}
	return i
}

// pick is the command that writes the plan of a point of a frontier file, without searching further.
func (f *frontier) pick(path string, point int) string {
	words := []string{"tapc", "plan", cmp.Or(f.Graph, "FILE"), "--machine=" + f.Machine, fmt.Sprintf("--devices=%d", f.Devices), "--objective=" + strings.Join(f.Objectives, ",")}
	if f.Space != "" {
		words = append(words, "--space="+f.Space)
	}
	if f.Allow != "" {
		words = append(words, "--allow="+f.Allow)
	}
	words = append(words, fmt.Sprintf("--rounds=%d", f.Rounds), "--resume="+path, fmt.Sprintf("--pick=%d", point))
	for i, w := range words {
		words[i] = shellwords.Quote(w)
	}
	return strings.Join(words, " ")
}

// Frontier reads a frontier file for a page; "" is none.
func Frontier(path string) (json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	data, err := jsonfile.Read(path)
	if err != nil {
		return nil, err
	}
	return readFrontier(path, data)
}

// readFrontier reads the text of a frontier file.
func readFrontier(path string, data []byte) (json.RawMessage, error) {
	var f frontier
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, diag.Errorf("TAP2981", "view", diag.Location{File: path}, "this is not a frontier: %v", err)
	}
	if f.Version != 1 || len(f.Objectives) == 0 || len(f.Points) == 0 {
		return nil, diag.Errorf("TAP2981", "view", diag.Location{File: path}, "this is not a frontier").
			Want("version 1, objectives and points", fmt.Sprintf("version %d, %d objectives, %d points", f.Version, len(f.Objectives), len(f.Points)))
	}
	out := plot{}
	for _, o := range f.Objectives {
		out.Objectives = append(out.Objectives, axis{o, units[o]})
	}
	things, says := numbers[thing]{of: map[thing]int{}}, numbers[string]{of: map[string]int{}}
	for i, p := range f.Points {
		x := point{Words: []string{fmt.Sprintf("on %d devices of %s, mesh %s", f.Devices, f.Machine, strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Mesh), " ", "x"), "[]")), fmt.Sprintf("found by %s in round %d", p.From, p.Round),
			f.pick(path, i+1) + " writes it"}}
		if p.Fault != "" {
			x.Words = append(x.Words, p.Fault)
		}
		if p.Plan != nil {
			plan, err := planfile.Parse(path, p.Plan)
			if err != nil {
				return nil, err
			}
			for _, s := range plandiff.All(plan) {
				x.Plan = append(x.Plan, [2]int{things.get(thing{s.Of, s.Otherwise}), says.get(s.Says)})
			}
		}
		for _, o := range f.Objectives {
			v, ok := p.Costs[o]
			if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, diag.Errorf("TAP2981", "view", diag.Location{File: path, Pointer: fmt.Sprintf("/points/%d/costs", i)}, "a point has no %s", o)
			}
			x.Values = append(x.Values, v)
		}
		out.Points = append(out.Points, x)
	}
	out.Things, out.Says = things.list, says.list
	return json.Marshal(out)
}
