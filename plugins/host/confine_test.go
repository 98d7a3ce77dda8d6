package host_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/confine"
	"tensortapestry.org/tapc/plugins/host"
)

// try runs the pass of a misbehaving program and gives its error.
func try(t *testing.T, name, at string, access host.Access) error {
	t.Helper()
	p := open(t, misbehaving(t, name), host.Options{Limits: limits(nil), Access: access})
	if gaps := p.Confinement().Gaps(); len(gaps) > 0 {
		t.Skipf("this system does not confine plugins: %v", gaps)
	}
	_, err := p.RunPass(context.Background(), "pass", []pipeline.Setting{{Name: "at", Value: at}}, load(t, "linear-relu.loom.json"))
	return err
}

// refusals are the ways in which a system says that something may not be had.
var refusals = []string{"permission denied", "operation not permitted", "no such file or directory", "read-only file system"}

func denied(t *testing.T, err error) {
	t.Helper()
	if err == nil || !slices.ContainsFunc(refusals, func(s string) bool { return strings.Contains(err.Error(), s) }) {
		t.Errorf("expected a denial, found %v", err)
	}
}

func allowed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func TestConfinement(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := host.Access{Read: []string{filepath.Dir(secret)}}
	t.Run("reading", func(t *testing.T) { t.Parallel(); denied(t, try(t, "reads-file", secret, host.Access{})) })
	t.Run("reading granted", func(t *testing.T) { t.Parallel(); allowed(t, try(t, "reads-file", secret, dir)) })
	t.Run("writing", func(t *testing.T) { t.Parallel(); denied(t, try(t, "writes", secret, dir)) })
	t.Run("writing granted", func(t *testing.T) {
		t.Parallel()
		allowed(t, try(t, "writes", filepath.Join(filepath.Dir(secret), "new"), host.Access{Write: dir.Read}))
	})
	t.Run("own directory", func(t *testing.T) { t.Parallel(); allowed(t, try(t, "writes", "file", host.Access{})) })
	t.Run("network granted", func(t *testing.T) {
		t.Parallel()
		allowed(t, try(t, "network", "", host.Access{Network: true}))
	})
	t.Run("names with the network", func(t *testing.T) {
		t.Parallel()
		allowed(t, try(t, "reads-file", "/etc/hosts", host.Access{Network: true}))
		denied(t, try(t, "reads-file", "/etc/hosts", host.Access{}))
	})
	t.Run("services with the network", func(t *testing.T) {
		t.Parallel()
		dir, err := os.MkdirTemp("/tmp", "tapc-") // the paths of sockets are short
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		at := filepath.Join(dir, "s")
		l, err := net.Listen("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		denied(t, try(t, "connects", at, host.Access{Network: true}))
		allowed(t, try(t, "connects", at, host.Access{Network: true, Write: []string{at}}))
	})
	t.Run("programs", func(t *testing.T) {
		t.Parallel()
		denied(t, try(t, "executes", "/usr/bin/env", host.Access{}))
		allowed(t, try(t, "executes", "/usr/bin/env", host.Access{Execute: true}))
	})
}

func TestEnvironmentIsClean(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
	p := open(t, misbehaving(t, "environment"), host.Options{Limits: limits(nil)})
	_, err := p.RunPass(context.Background(), "pass", nil, load(t, "linear-relu.loom.json"))
	if err == nil || !strings.Contains(err.Error(), "TAPC_PLUGIN=") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the environment is not clean: %v", err)
	}
}

// asHost makes this test program a host that runs a plugin until it is killed.
const asHost = "TAPC_HOST_TEST_PLUGIN"

// asHostWithout names the layers that this host leaves out, as a number.
const asHostWithout = "TAPC_HOST_TEST_WITHOUT"

// runAsHost starts the plugin that a variable names and a pass that never ends.
func runAsHost(path string) {
	off, _ := strconv.Atoi(os.Getenv(asHostWithout))
	p, err := host.Start(context.Background(), path, host.Options{}.Without(confine.Layer(off)))
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return
	}
	os.Stdout.WriteString("started\n")
	p.RunPass(context.Background(), "pass", nil, load(&testing.B{}, "linear-relu.loom.json"))
}

// TestHostIsKilled kills tapc in the middle of a pass of a plugin that has children of its own, and looks for what is left.
func TestHostIsKilled(t *testing.T) {
	for _, x := range []struct {
		name string
		off  confine.Layer
	}{{"deaf", 0}, {"forks-and-waits", 0}, {"stopped", 0}, {"forks-and-waits", confine.Spaces}} {
		name := x.name
		t.Run(fmt.Sprintf("%s without %d", name, x.off), func(t *testing.T) {
			t.Parallel()
			path := misbehaving(t, name)
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), asHost+"="+path, fmt.Sprintf("%s=%d", asHostWithout, x.off))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, 100)
			n, _ := out.Read(line)
			if !bytes.HasPrefix(line[:n], []byte("started")) {
				t.Errorf("the host says %s", line[:n])
			}
			for deadline := time.Now().Add(10 * time.Second); name == "forks-and-waits" && len(running(path)) < 2 && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
			if len(running(path)) == 0 {
				t.Error("the plugin does not run")
			}
			cmd.Process.Signal(syscall.SIGKILL)
			cmd.Wait()
			gone(t, path)
		})
	}
}

// unsupervised makes this test program one whose main function does not call supervise.Main.
const unsupervised = "TAPC_HOST_TEST_UNSUPERVISED"

// TestWithoutSupervisor runs part of the tests again as systems other than Linux must: without a supervisor.
func TestWithoutSupervisor(t *testing.T) {
	if os.Getenv(unsupervised) != "" {
		p := open(t, misbehaving(t, "good"), host.Options{Limits: limits(nil)})
		if p.Confinement().Supervised || len(p.Confinement().Gaps()) != len(p.Confinement().Bounds()) {
			t.Errorf("the confinement is %+v", p.Confinement())
		}
		return
	}
	t.Parallel()
	cmd := exec.Command("/proc/self/exe", "-test.run=^(TestWithoutSupervisor|TestRunPass|TestCancel|TestReports|TestFaultsAtStart|TestAttacksUnconfined)$")
	cmd.Env = append(os.Environ(), unsupervised+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
