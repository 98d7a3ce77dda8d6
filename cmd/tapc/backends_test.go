package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cmd/tapc/app"
)

func TestTheBackEndsAreValid(t *testing.T) {
	if err := app.OwnBackends().Validate(); err != nil {
		t.Fatal(err)
	}
}

// The guide to back ends lists them as they are, and names files that there are.
func TestTheGuideToBackEndsIsCurrent(t *testing.T) {
	data, err := os.ReadFile("../../docs/backends.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(data)
	for _, b := range app.OwnBackends() {
		var devices []string
		for _, d := range b.Devices {
			devices = append(devices, d.String())
		}
		row := fmt.Sprintf("| `%s` | %s | %s | `backends/%[1]s/backend.go` |", b.Name, strings.Join(devices, ", "), strings.Join(b.OutputNames(), ", "))
		if !strings.Contains(guide, row+"\n") {
			t.Errorf("docs/backends.md lacks the line\n%s", row)
		}
	}
	rows := strings.Count(guide, "/backend.go` |\n")
	if rows != len(app.OwnBackends()) {
		t.Errorf("docs/backends.md lists %d back ends, and there are %d", rows, len(app.OwnBackends()))
	}
	for _, m := range regexp.MustCompile("`((?:backends|cmd|dialects|docs|lit-tests|plugins|tools)/[A-Za-z0-9_./-]+)`").FindAllStringSubmatch(guide, -1) {
		name := strings.ReplaceAll(m[1], "NAME", "cuda")
		if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
			t.Errorf("docs/backends.md: %v", err)
		}
	}
}
