package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/confine"
	"tensortapestry.org/tapc/plugins/host"
)

// attack is a row of the matrix of ways out: what testdata/misbehave tries under a name, and the bound that says whether it can succeed.
type attack struct {
	bound string
	names []string
}

var attackTable = []attack{
	{"signals", []string{"kill", "tgkill", "tkill", "pidfd", "sigio", "fiosetown"}},
	{"processes of others", []string{"prlimit", "prlimit-sup", "priority", "priorities", "affinity", "ptrace", "vm-read"}},
	{"programs", []string{"program", "loader", "memfd", "self"}},
	{"memory", []string{"memfd-size", "shared-anon", "shared-zero", "dev-shm"}},
	{"reading files", []string{"read", "processes"}},
	{"names of files", []string{"stat"}},
	{"writing files", []string{"write", "truncate", "empty", "create"}},
	{"modes and owners", []string{"chmod", "fchmodat", "chown", "utimes", "setxattr", "removexattr"}},
	{"open files", []string{"descriptor"}},
	{"network", []string{"udp", "tcp"}},
	{"sockets of others", []string{"connect", "abstract", "datagram", "pair"}},
	{"keys and queues", []string{"shmctl", "shmat", "semctl", "msgctl", "mq-unlink", "keyctl"}},
	{"system calls", []string{"unknown", "personality", "setuid", "netlink", "packet", "io-uring", "userfaultfd", "join-group"}},
	{"capabilities", []string{"capabilities"}},
}

// mayFail are attacks that do not succeed everywhere even where nothing keeps them: the system's settings or the user's rights do.
var mayFail = []string{"ptrace", "vm-read", "setxattr", "removexattr", "keyctl", "packet", "io-uring", "userfaultfd", "processes", "join-group",
	"capabilities", "priorities", "dev-shm"}

// targetsOf makes what the attacks are aimed at.
func targetsOf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tapc-") // the paths of sockets are short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, []byte("precious"), 0o600))
	victim := exec.Command("sleep", "1000")
	must(t, victim.Start())
	t.Cleanup(func() { victim.Process.Kill(); victim.Wait() })
	f, err := os.Open(file)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	descriptor, err := unix.Dup(int(f.Fd())) // without O_CLOEXEC, as programs leave them
	must(t, err)
	t.Cleanup(func() { unix.Close(descriptor) })
	abstract := "@" + filepath.Base(dir)
	for _, at := range []string{filepath.Join(dir, "s"), abstract} {
		l, err := net.Listen("unix", at)
		must(t, err)
		t.Cleanup(func() { l.Close() })
	}
	datagrams, err := net.ListenPacket("unixgram", filepath.Join(dir, "d"))
	must(t, err)
	t.Cleanup(func() { datagrams.Close() })
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { tcp.Close() })
	text, err := json.Marshal(map[string]any{"Victim": victim.Process.Pid, "Group": syscall.Getpgrp(), "Descriptor": descriptor, "File": file,
		"Shared": object(t, unix.SYS_SHMGET, 4096, unix.SYS_SHMCTL), "Semaphore": object(t, unix.SYS_SEMGET, 1, unix.SYS_SEMCTL),
		"Queue": object(t, unix.SYS_MSGGET, 0, unix.SYS_MSGCTL), "Named": namedQueue(t), "Datagrams": filepath.Join(dir, "d"),
		"Address": tcp.Addr().String(), "Socket": filepath.Join(dir, "s"), "Abstract": abstract})
	must(t, err)
	return string(text)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// object makes shared memory, semaphores or a queue.
func object(t *testing.T, get, size, control uintptr) int {
	t.Helper()
	flags := uintptr(unix.IPC_CREAT | 0o600)
	args := []uintptr{unix.IPC_PRIVATE, size, flags}
	if get == unix.SYS_MSGGET {
		args = []uintptr{unix.IPC_PRIVATE, flags, 0}
	}
	id, _, errno := unix.Syscall(get, args[0], args[1], args[2])
	if errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() {
		if control == unix.SYS_SEMCTL { // it has another argument before the command
			unix.Syscall(control, id, 0, unix.IPC_RMID)
			return
		}
		unix.Syscall(control, id, unix.IPC_RMID, 0)
	})
	return int(id)
}

// namedQueue makes the queue that an attack takes away, and gives its name.
func namedQueue(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("tapc-attacks-%d", os.Getpid())
	p, err := unix.BytePtrFromString(name)
	must(t, err)
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(p)), unix.O_CREAT|unix.O_RDWR, 0o600, 0, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	unix.Close(int(fd))
	t.Cleanup(func() { unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(p)), 0, 0) })
	return name
}

// assault lets a plugin try everything, and gives what succeeds and what is said of its confinement.
func assault(t *testing.T, off confine.Layer) (came []string, state confine.State) {
	t.Helper()
	targets := targetsOf(t)
	p := open(t, misbehaving(t, "assaults"), host.Options{Limits: limits(nil)}.Without(off))
	a, err := p.RunPass(context.Background(), "pass", []pipeline.Setting{{Name: "at", Value: targets}}, load(t, "linear-relu.loom.json"))
	must(t, err)
	for _, c := range a.Counts {
		came = append(came, c.Name)
	}
	return came, p.Confinement()
}

// TestAttacks lets a plugin try every way out, with all layers of the confinement and without each: what a row says is kept is kept, and
// where a row says that it is not, something comes through.
func TestAttacks(t *testing.T) {
	for name, off := range map[string]confine.Layer{"everything": 0, "no namespaces": confine.Spaces, "no root": confine.Root, "no Landlock": confine.Landlock,
		"no watch": confine.Once, "no filter": confine.Filter, "no namespaces, no Landlock": confine.Spaces | confine.Landlock,
		"nothing but limits": confine.Spaces | confine.Landlock | confine.Filter} {
		t.Run(name, func(t *testing.T) {
			came, state := assault(t, off)
			compareAttacks(t, came, state)
		})
	}
}

// TestAttacksUnconfined is the counter-check: where nothing keeps a plugin, all of it comes through.
func TestAttacksUnconfined(t *testing.T) {
	if os.Getenv(unsupervised) == "" {
		t.Skip("TestWithoutSupervisor runs it")
	}
	came, state := assault(t, 0)
	compareAttacks(t, came, state)
	for _, a := range attackTable {
		for _, name := range a.names {
			if !slices.Contains(came, name) && !slices.Contains(mayFail, name) {
				t.Errorf("%q does not succeed where nothing is in its way", name)
			}
		}
	}
}

// nobody is an ordinary user.
const nobody = 65534

// TestAttacksAsUser runs the attacks, and what plugins must be able to do, as an ordinary user, where root runs the tests.
func TestAttacksAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("an ordinary user runs the tests already")
	}
	dir, err := os.MkdirTemp(filepath.Dir(built), "") // not in built, which only root can enter
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chown(dir, nobody, nobody))
	for _, program := range []func() (string, error){misbehave, linearRelu} {
		from, err := program()
		must(t, err)
		text, err := os.ReadFile(from) // links to what another owns are often forbidden
		must(t, err)
		to := filepath.Join(dir, filepath.Base(from))
		must(t, os.WriteFile(to, text, 0o755))
		must(t, os.Chown(to, nobody, nobody))
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^(TestAttacks|TestRunPass|TestOffspring|TestFolder)$", "-test.v")
	cmd.Env = append(os.Environ(), asUser+"="+dir, "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "\n--- PASS: ") != 4 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFolder fills a plugin's folder, with one file after another and with files without names, where it is in memory and where it is not.
func TestFolder(t *testing.T) {
	for _, x := range []struct {
		name string
		off  confine.Layer
		kind host.Kind
		says string
	}{
		{"fills", 0, host.Failed, "no space left on device"}, {"fills-nameless", 0, host.Failed, "no space left on device"},
		{"fills", confine.Spaces, host.OutOfSpace, "more than 67108864 bytes"}, {"fills-nameless", confine.Spaces, host.OutOfSpace, "more than 67108864 bytes"},
	} {
		t.Run(fmt.Sprintf("%s without %d", x.name, x.off), func(t *testing.T) {
			t.Parallel()
			path := misbehaving(t, x.name)
			p := open(t, path, host.Options{Limits: limits(func(l *host.Limits) { l.FileSize = 64 << 20 })}.Without(x.off))
			if x.off == 0 && !p.Confinement().Rooted {
				t.Skip("the folder is not in memory here")
			}
			_, err := p.RunPass(context.Background(), "pass", nil, load(t, "linear-relu.loom.json"))
			f := fault{kind: x.kind, says: x.says}
			f.check(t, err, path, "pass pass")
		})
	}
}

// compareAttacks holds what succeeded against what the rows say.
func compareAttacks(t *testing.T, came []string, state confine.State) {
	t.Helper()
	held := map[string]bool{"names of files": state.Rooted}
	for _, b := range state.Bounds() {
		held[b.Name] = b.Held
	}
	for _, a := range attackTable {
		if a.bound == "memory" && state.Cgroup {
			continue // the kernel counts what is refused elsewhere
		}
		through, possible := 0, len(a.names)
		for _, name := range a.names {
			switch {
			case slices.Contains(came, name):
				through++
			case slices.Contains(mayFail, name):
				possible--
			}
		}
		if held[a.bound] && through > 0 {
			t.Errorf("%q is said to be kept, and came through: %s", a.bound, strings.Join(common(came, a.names), ", "))
		}
		if !held[a.bound] && through == 0 && possible > 0 {
			t.Errorf("%q is said not to be kept, and nothing came through", a.bound)
		}
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("%+v\ncame through: %s", state, strings.Join(came, ", "))
	}
}

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}
