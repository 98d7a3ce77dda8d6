package pages

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"

	"tensortapestry.org/tapc/internal/jsonfile"
	"tensortapestry.org/tapc/ir/diag"
)

// frontier is what a page takes of a frontier file: the points with their costs by the names of objectives, and how each was found.
type frontier struct {
	Version    int      `json:"version"`
	Objectives []string `json:"objectives"`
	Machine    string   `json:"machine"`
	Devices    int64    `json:"devices"`
	Points     []struct {
		Costs map[string]float64 `json:"costs"`
		Mesh  []int64            `json:"mesh"`
		From  string             `json:"from"`
		Round int                `json:"round"`
		Trial json.RawMessage    `json:"trial"`
	} `json:"points"`
}

// units are those of objectives that have one that the page knows.
var units = map[string]string{"time": "s", "memory": "bytes", "sent": "bytes"}

// plot is a frontier as assets/plot.js draws it.
type plot struct {
	Objectives []axis  `json:"objectives"`
	Points     []point `json:"points"`
}

type axis struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

type point struct {
	Values []float64 `json:"values"`
	Words  []string  `json:"words"`
	Text   string    `json:"text"`
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
	for i, p := range f.Points {
		x := point{Words: []string{fmt.Sprintf("on %d devices of %s, mesh %v", f.Devices, f.Machine, p.Mesh), fmt.Sprintf("found by %s in round %d", p.From, p.Round),
			fmt.Sprintf("tapc plan --resume %s --pick %d writes it", filepath.Base(path), i+1)}, Text: string(p.Trial)}
		for _, o := range f.Objectives {
			v, ok := p.Costs[o]
			if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, diag.Errorf("TAP2981", "view", diag.Location{File: path, Pointer: fmt.Sprintf("/points/%d/costs", i)}, "a point has no %s", o)
			}
			x.Values = append(x.Values, v)
		}
		out.Points = append(out.Points, x)
	}
	return json.Marshal(out)
}
