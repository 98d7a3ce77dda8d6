//go:build !cuda

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/internal/cudashim/launchlist"
)

func TestBuiltWithoutCUDA(t *testing.T) {
	path := filepath.Join(t.TempDir(), "launches.json")
	p := &launchlist.List{Version: launchlist.Version, Buffers: []launchlist.Buffer{}, Launches: []launchlist.Launch{}}
	if err := p.Write(path); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"devices"}, {"run", path}, {"time", path}} {
		var stdout, stderr bytes.Buffer
		if status := run(args, strings.NewReader(""), &stdout, &stderr); status != exitDevice || !strings.Contains(stderr.String(), "tools/cuda/build.sh") {
			t.Errorf("%q: exit status %d, %q, expected %d and how to build it", args, status, stderr.String(), exitDevice)
		}
	}
}
