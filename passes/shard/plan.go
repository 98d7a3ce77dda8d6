package shard

import (
	"errors"
	"fmt"

	"tensortapestry.org/tapc/internal/jsonfile"
	"tensortapestry.org/tapc/ir/diag"
)

// ReadPlan reads a plan, {"shard": [{"target": "op:linear", "parts": [2, 2]}, …]}: a request for each entry, in order. Errors
// name the file and, where JSON tells, the byte.
func ReadPlan(path string) ([]Request, error) {
	data, err := jsonfile.Read(path)
	if err != nil {
		return nil, err
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
	if err := jsonfile.Decode(data, &plan); err != nil {
		return nil, err
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
