package host_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/host"
)

// try runs the pass of a misbehaving program and gives its error.
func try(t *testing.T, name, at string, access host.Access) error {
	t.Helper()
	p := open(t, misbehaving(t, name), host.Options{Limits: limits(nil), Access: access})
	if gaps := p.Confinement().Gaps(); len(gaps) > 0 {
		t.Skipf("this system does not confine plugins: %s", strings.Join(gaps, "; "))
	}
	_, err := p.RunPass(context.Background(), "pass", []pipeline.Setting{{Name: "at", Value: at}}, load(t, "linear-relu.loom.json"))
	return err
}

func denied(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
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
	t.Run("other processes", func(t *testing.T) { t.Parallel(); denied(t, try(t, "reads-file", "/proc/1/environ", host.Access{})) })
	t.Run("own directory", func(t *testing.T) { t.Parallel(); allowed(t, try(t, "writes", "file", host.Access{})) })
	t.Run("network", func(t *testing.T) { t.Parallel(); allowed(t, try(t, "network", "", host.Access{})) })
	t.Run("network granted", func(t *testing.T) {
		t.Parallel()
		if err := try(t, "network", "", host.Access{Network: true}); err == nil || !strings.Contains(err.Error(), "a UDP socket could be made") {
			t.Errorf("the network is denied though it was granted: %v", err)
		}
	})
	t.Run("names with the network", func(t *testing.T) {
		t.Parallel()
		allowed(t, try(t, "reads-file", "/etc/hosts", host.Access{Network: true}))
		denied(t, try(t, "reads-file", "/etc/hosts", host.Access{}))
	})
	t.Run("sockets of others", testSocketsOfOthers)
	t.Run("socket pairs", func(t *testing.T) { t.Parallel(); allowed(t, try(t, "pairs", "", host.Access{})) })
	t.Run("keys and memory", func(t *testing.T) {
		t.Parallel()
		allowed(t, try(t, "keys", "", host.Access{}))
		allowed(t, try(t, "keys", "", host.Access{Network: true}))
	})
	t.Run("signals", func(t *testing.T) { t.Parallel(); allowed(t, try(t, "signals", "", host.Access{})) })
	t.Run("programs", func(t *testing.T) {
		t.Parallel()
		denied(t, try(t, "executes", "/usr/bin/env", host.Access{}))
		allowed(t, try(t, "executes", "/usr/bin/env", host.Access{Execute: true}))
	})
}

// testSocketsOfOthers lets plugins speak to services of the user that listen on Unix sockets, as those of containers and
// desktops do.
func testSocketsOfOthers(t *testing.T) {
	stream, abstract := filepath.Join(t.TempDir(), "s"), fmt.Sprintf("@tapc-test-%d", os.Getpid())
	for _, at := range []string{stream, abstract} {
		l, err := net.Listen("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		t.Run(at[:1], func(t *testing.T) { denied(t, try(t, "connects", at, host.Access{})) })
	}
	datagrams := filepath.Join(t.TempDir(), "d")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: datagrams, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := try(t, "sends", datagrams, host.Access{}); err == nil || !strings.Contains(err.Error(), "protocol not supported") {
		t.Errorf("expected no datagram socket, found %v", err)
	}
	if host.Available().Landlock < 9 { // what only the filter keeps out is reached once the network is granted
		allowed(t, try(t, "connects", stream, host.Access{Network: true}))
	}
}

func TestBounds(t *testing.T) {
	for _, x := range []struct {
		c    host.Confinement
		gaps []string
	}{
		{host.Confinement{Supervised: true, Landlock: 7, Filter: true}, nil},
		{host.Confinement{Supervised: true, Landlock: 5, Filter: true}, []string{"Landlock 5 does not know signals"}},
		{host.Confinement{Supervised: true, Landlock: 1, Filter: true}, []string{"Landlock 1 does not know signals", "Landlock 1 does not know truncation"}},
		{host.Confinement{Supervised: true}, []string{"no Landlock", "no filter of system calls"}},
		{host.Confinement{}, []string{"no supervisor", "no Landlock", "no filter of system calls"}},
	} {
		gaps := x.c.Gaps()
		if len(gaps) != len(x.gaps) {
			t.Errorf("%+v: the gaps are %q", x.c, gaps)
			continue
		}
		for i, gap := range gaps {
			if !strings.HasPrefix(gap, x.gaps[i]) {
				t.Errorf("%+v: the gap %q does not begin with %q", x.c, gap, x.gaps[i])
			}
		}
	}
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

// runAsHost starts the plugin that a variable names and a pass that never ends.
func runAsHost(path string) {
	p, err := host.Start(context.Background(), path, host.Options{})
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return
	}
	os.Stdout.WriteString("started\n")
	p.RunPass(context.Background(), "pass", nil, load(&testing.B{}, "linear-relu.loom.json"))
}

// TestHostIsKilled kills tapc in the middle of a pass of a plugin that has children of its own, and looks for what is left.
func TestHostIsKilled(t *testing.T) {
	for _, name := range []string{"deaf", "forks-and-waits", "stopped"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := misbehaving(t, name)
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), asHost+"="+path)
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

// unsupervised makes this test program one whose main function does not call Supervise.
const unsupervised = "TAPC_HOST_TEST_UNSUPERVISED"

// TestWithoutSupervisor runs part of the tests again as systems other than Linux must: without a supervisor.
func TestWithoutSupervisor(t *testing.T) {
	if os.Getenv(unsupervised) != "" {
		p := open(t, misbehaving(t, "good"), host.Options{Limits: limits(nil)})
		if p.Confinement().Supervised || len(p.Confinement().Gaps()) != 3 {
			t.Errorf("the confinement is %+v", p.Confinement())
		}
		return
	}
	t.Parallel()
	cmd := exec.Command("/proc/self/exe", "-test.run=^(TestWithoutSupervisor|TestRunPass|TestCancel|TestReports|TestFaultsAtStart)$")
	cmd.Env = append(os.Environ(), unsupervised+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
