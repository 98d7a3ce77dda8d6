package pages

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/internal/jsonfile"
	"tensortapestry.org/tapc/ir/diag"
)

// profileLine is what --bench N --profile prints of a step: its mean time, its part of all, its number and its name.
var profileLine = regexp.MustCompile(`(?m)^\s*([0-9.e+-]+) ms\s+[0-9.]+ %\s+step ([0-9]+): (.*?)( -> .*)?$`)

// Measure reads what a program printed with --bench N --profile, and gives its steps the times that they took; "" is none. The error is a file that
// cannot be read, or TAP2982: it has no steps, or steps of another program.
func (m *Program) Measure(path string) error {
	if path == "" {
		return nil
	}
	data, err := jsonfile.Read(path)
	if err != nil {
		return err
	}
	wrong := func(format string, args ...any) diag.Diagnostic {
		return diag.Errorf("TAP2982", "view", diag.Location{File: path}, format, args...)
	}
	order, err := schedule.Order(m.Graph)
	if err != nil {
		return err
	}
	found := profileLine.FindAllStringSubmatch(string(data), -1)
	if len(found) == 0 {
		return wrong("there is no profile in this file").Want("lines that PROGRAM --bench N --profile prints", fmt.Sprintf("%d lines of others", strings.Count(string(data), "\n")))
	}
	m.Measured = map[int]float64{}
	for _, f := range found {
		n, err := strconv.Atoi(f[2])
		if err != nil || n >= len(order) {
			return wrong("the profile is that of another program").Want(fmt.Sprintf("steps 0 to %d", len(order)-1), "step "+f[2])
		}
		if k, ok := m.Graph.Node(order[n]).Body.(*schedule.Kernel); ok && k.Name != f[3] {
			return wrong("the profile is that of another program").Want(fmt.Sprintf("step %d: %s", n, k.Name), f[3])
		}
		t, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return wrong("%q is no time", f[1])
		}
		m.Measured[n] = t / 1000
	}
	return nil
}
