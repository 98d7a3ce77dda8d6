package shard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"tensortapestry.org/tapc/ir/diag"
)

// maxPlan bounds a plan file, in bytes.
const maxPlan = 64 << 20

// ReadPlan reads a plan, {"shard": [{"target": "op:linear", "parts": [2, 2]}, …]}: a request for each entry, in order. Errors
// name the file and, where JSON tells, the byte.
func ReadPlan(path string) ([]Request, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxPlan+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxPlan {
		return nil, diag.Usage("%s: a plan has at most %d bytes", path, maxPlan)
	}
	requests, err := parsePlan(data)
	if err != nil {
		return nil, diag.Usage("%s: %v", path, err)
	}
	return requests, nil
}

func parsePlan(data []byte) ([]Request, error) {
	var plan struct {
		Shard []struct {
			Target string  `json:"target"`
			Parts  []int64 `json:"parts"`
		} `json:"shard"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&plan); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("byte %d: %w", syntax.Offset, err)
		}
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("byte %d: more text after the plan", d.InputOffset())
	}
	var out []Request
	for i, s := range plan.Shard {
		r := Request{Target: s.Target, Counts: s.Parts}
		switch err := r.check(); {
		case s.Target == "":
			return nil, fmt.Errorf("entry %d names no target: a kernel or a label", i)
		case len(s.Parts) == 0:
			return nil, fmt.Errorf("entry %d (%s) has no parts: a number for each index dimension", i, s.Target)
		case err != nil:
			return nil, fmt.Errorf("entry %d (%s): %w", i, s.Target, err)
		}
		out = append(out, r)
	}
	if out == nil {
		return nil, errors.New(`the plan asks for nothing; expected {"shard": [{"target": "op:linear", "parts": [2, 2]}]}`)
	}
	return out, nil
}

// requests joins what the options of the pass ask for.
func requests(at, plan string) ([]Request, error) {
	if at == "" && plan == "" {
		return nil, diag.Usage("shard: nothing to cut; expected shard{at=\"op:linear=2x2\"} or shard{plan=FILE}")
	}
	var out []Request
	if plan != "" {
		planned, err := ReadPlan(plan)
		if err != nil {
			return nil, err
		}
		out = planned
	}
	if at != "" {
		r, err := Parse(at)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
