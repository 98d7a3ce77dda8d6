package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCgroupBounds makes groups in a directory that looks like the kernel's.
func TestCgroupBounds(t *testing.T) {
	own, err := ownCgroup()
	if err != nil {
		t.Skip("the kernel has no control groups of version 2")
	}
	for name, x := range map[string]struct{ at, controllers string }{"own": {own, "cpu memory pids\n"}, "above": {filepath.Dir(own), "memory pids\n"},
		"no memory": {own, "cpu pids\n"}} {
		root := t.TempDir()
		dir := filepath.Join(root, x.at)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(x.controllers), 0o644); err != nil {
			t.Fatal(err)
		}
		g, err := newCgroup(root, "group", cgroupNeeds, 1<<20, 2)
		if name == "no memory" {
			if err == nil || !strings.Contains(err.Error(), "controller memory") && !os.IsNotExist(err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for file, want := range map[string]string{"memory.max": "1048576", "memory.swap.max": "0", "pids.max": "128"} {
			if text, err := os.ReadFile(filepath.Join(dir, "group", file)); err != nil || string(text) != want {
				t.Errorf("%s: %s is %q, %v", name, file, text, err)
			}
		}
		if g.starved() {
			t.Errorf("%s: starved before it began", name)
		}
		if err := os.WriteFile(filepath.Join(g.dir, "memory.events"), []byte("low 0\noom 1\noom_kill 1\n"), 0o644); err != nil || !g.starved() {
			t.Errorf("%s: what the kernel killed is not seen, %v", name, err)
		}
	}
}

// TestCgroupPlacement starts a process in a group, where this user may make one, whatever controllers it has.
func TestCgroupPlacement(t *testing.T) {
	name := fmt.Sprintf("tapc-test-%d", os.Getpid())
	var g *cgroup
	var err error
	for _, root := range []string{cgroupRoot, cgroupRoot + "/unified"} {
		if g, err = newCgroup(root, name, nil, 0, 0); err == nil {
			break
		}
	}
	if err != nil {
		t.Skip("this user can make no control group")
	}
	cmd := exec.Command("cat", "/proc/self/cgroup")
	cmd.SysProcAttr = g.into(&syscall.SysProcAttr{})
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "/"+name+"\n") {
		t.Errorf("the process is in\n%s%v", out, err)
	}
	g.remove()
	if _, err := os.Stat(g.dir); !os.IsNotExist(err) {
		t.Errorf("the group is left: %v", err)
	}
}
