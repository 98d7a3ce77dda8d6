package installed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/installed"
	"tensortapestry.org/tapc/plugins/plugintest"
)

// copyOf copies a program, so that a test may change it.
func copyOf(t *testing.T, path, name string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestMain(m *testing.M) { plugintest.Main(m) }

func TestInstall(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	root := t.TempDir()
	place := installed.ProjectPlace(root)
	path := copyOf(t, plugintest.Build(t, "../examples/linear-relu"), "whatever")
	got, err := place.Install(ctx, path, false, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "linear-relu" || got.Protocol != "1.2" || len(got.Passes) != 1 || len(got.SHA256[installed.System()]) != 64 {
		t.Errorf("locked %+v", got)
	}
	lock, err := installed.ReadLock(filepath.Join(root, installed.LockName))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, lock.Find("linear-relu"), cmp.AllowUnexported(installed.Locked{})); diff != "" {
		t.Errorf("the lock file has other things (-want +got):\n%s", diff)
	}
	if deep := installed.ProjectPlace(filepath.Join(root, "a", "b")); deep != place {
		t.Errorf("from a directory below, the place is %+v", deep)
	}
	if err := place.Verify(ctx, got, host.Options{}); err != nil {
		t.Error(err)
	}
	opened, err := place.Open(ctx, got, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	again, err := place.Install(ctx, path, false, host.Options{})
	if err != nil || cmp.Diff(got, again) != "" {
		t.Errorf("installed again it is %+v, %v", again, err)
	}

	tamper(t, place.File("linear-relu"))
	for name, err := range map[string]error{"open": second(place.Open(ctx, got, host.Options{})), "verify": place.Verify(ctx, got, host.Options{})} {
		if f, ok := host.IsFault(err); !ok || f.Kind != host.WrongDigest {
			t.Errorf("%s: the changed file gives %v", name, err)
		}
	}
	if err := place.Remove("linear-relu"); err != nil {
		t.Error(err)
	}
	if err := place.Remove("linear-relu"); err == nil {
		t.Error("it could be removed twice")
	}
	if left, _ := os.ReadDir(place.Files); len(left) != 0 {
		t.Errorf("left in the place: %v", left)
	}
}

func second[T any](_ T, err error) error { return err }

// tamper changes one byte at the end of a file.
func tamper(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	place := installed.ProjectPlace(t.TempDir())
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := place.Install(ctx, script, false, host.Options{}); err == nil || !strings.Contains(err.Error(), "exited with status 3") {
		t.Errorf("a plugin that does not start gives %v", err)
	}
	path := copyOf(t, plugintest.Build(t, "../host/testdata/misbehave"), "good")
	if err := os.WriteFile(path+installed.ManifestSuffix, []byte(`{"read": ["data"], "network": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := place.Install(ctx, path, false, host.Options{}); !errors.Is(err, installed.ErrNotGranted) {
		t.Errorf("access that was not granted gives %v", err)
	}
	got, err := place.Install(ctx, path, true, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := host.Access{Read: []string{filepath.Join(filepath.Dir(path), "data")}, Network: true}
	if diff := cmp.Diff(want, got.Access); diff != "" {
		t.Errorf("the access is other (-want +got):\n%s", diff)
	}
	if left, _ := os.ReadDir(place.Files); len(left) != 1 {
		t.Errorf("in the place are %v", left)
	}
	if strangers := place.Strangers(&installed.Lock{}); len(strangers) != 1 || strangers[0] != "misbehave" {
		t.Errorf("unlocked files are %v", strangers)
	}
}

func TestLockIsStrict(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("a", 64)
	for name, text := range map[string]string{
		"no JSON":          "plugins:",
		"a later form":     `{"version": 2, "plugins": []}`,
		"an unknown field": `{"version": 1, "plugins": [], "trust": "all"}`,
		"more behind":      `{"version": 1, "plugins": []} {}`,
		"a path as name":   `{"version": 1, "plugins": [{"name": "../../bin/sh", "version": "1.0.0", "protocol": "1.0", "sha256": {}, "access": {}}]}`,
		"a short digest":   `{"version": 1, "plugins": [{"name": "a", "version": "1.0.0", "protocol": "1.0", "sha256": {"linux/amd64": "abc"}, "access": {}}]}`,
		"no such stage": `{"version": 1, "plugins": [{"name": "a", "version": "1.0.0", "protocol": "1.0", "sha256": {"linux/amd64": "` + digest + `"}, "access": {},
			"passes": [{"name": "p", "doc": "d", "needs": "x", "upto": "", "gives": ""}]}]}`,
	} {
		path := filepath.Join(t.TempDir(), installed.LockName)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := installed.ReadLock(path); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}
