package installed

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	pb "google.golang.org/protobuf/proto"

	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/proto"
)

func FuzzLock(f *testing.F) {
	f.Add([]byte(`{"version":1,"plugins":[{"name":"a","version":"1.0.0","protocol":"1.0","sha256":{},"access":{},"passes":[{"name":"p","doc":"d","needs":"operation","upto":"","gives":"","options":[{"name":"o","doc":"d","type":"int"}]}]}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), LockName)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		first, err := ReadLock(path)
		if err != nil {
			return
		}
		if err := first.Write(path); err != nil {
			t.Fatal(err)
		}
		second, err := ReadLock(path)
		if err != nil {
			t.Fatalf("a lock file that was just written: %v", err)
		}
		if len(first.Plugins) != len(second.Plugins) {
			t.Errorf("%d plugins became %d", len(first.Plugins), len(second.Plugins))
		}
		for i := range second.Plugins {
			second.Plugins[i].Parts()
			if !reflect.DeepEqual(first.Plugins[i].SHA256, second.Plugins[i].SHA256) {
				t.Error("digests changed")
			}
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"read":["tables","/x"],"write":[],"network":true,"execute":false}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(path+ManifestSuffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
		access, err := ReadManifest(path)
		if err != nil {
			return
		}
		for _, p := range append(access.Read, access.Write...) {
			if !filepath.IsAbs(p) {
				t.Errorf("%q is not absolute", p)
			}
		}
		if access.Nothing() != (len(access.Lines()) == 0) || !access.Within(access) {
			t.Errorf("%+v", access)
		}
	})
}

// FuzzLocked holds that what is locked says the same of a plugin as the plugin itself.
func FuzzLocked(f *testing.F) {
	seed := func(m *proto.Description) {
		text, err := pb.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	option := &proto.Option{Name: "n", Doc: "d", Type: proto.Option_INT, Default: "3"}
	seed(&proto.Description{Name: "a-b", Version: "1.0.0", Passes: []*proto.Pass{{Name: "p", Doc: "d.", Needs: "schedule", Options: []*proto.Option{option}}},
		Rules: []*proto.Declarations{{Name: "r", Doc: "d.", Text: "rule"}}, Backends: []*proto.Backend{{Name: "b"}}})
	seed(&proto.Description{Name: "A", Version: "1"})
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &proto.Description{}
		if pb.Unmarshal(data, m) != nil {
			return
		}
		d, err := host.ReadDescription(m)
		if err != nil {
			return
		}
		l := lockedOf(d, strings.Repeat("0", 64), host.Access{})
		path := filepath.Join(t.TempDir(), LockName)
		if err := (&Lock{Version: lockVersion, Plugins: []Locked{l}}).Write(path); err != nil {
			t.Fatal(err)
		}
		lock, err := ReadLock(path)
		if err != nil {
			t.Fatalf("a lock file that was just written: %v", err)
		}
		again, err := lock.Plugins[0].Description()
		if err != nil {
			t.Fatal(err)
		}
		if difference := compareLocked(&l, &lock.Plugins[0]); difference != "" || len(again.Passes) != len(d.Passes) {
			t.Errorf("the lock file has other %s", difference)
		}
		for i := range d.Passes {
			a, b := d.Passes[i], again.Passes[i]
			if a.Name != b.Name || a.Doc != b.Doc || a.Needs != b.Needs || a.Upto != b.Upto || a.Gives != b.Gives || len(a.Options) != len(b.Options) {
				t.Errorf("pass %+v is locked as %+v", a, b)
			}
		}
	})
}
