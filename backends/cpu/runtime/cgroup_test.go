package rt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What control groups grant is the least quota of the process's group and of those around it, in both versions, wherever they
// are mounted.
func TestGroupLimit(t *testing.T) {
	program := build(t, toolchain{cc: one(t, address).cc, flags: address, lean: true}, "grouptest.c", false)
	const none = "1024\n"
	v2 := "31 23 0:28 / @/v2 rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
	v1 := "32 31 0:29 / @/v1/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	for _, x := range []struct {
		name, groups, mounts, want string
		files                      map[string]string
	}{
		{"no files", "", "", none, nil},
		{"no limit", "0::/a\n", v2, none, map[string]string{"v2/a/cpu.max": "max 100000\n"}},
		{"own", "0::/a\n", v2, "2\n", map[string]string{"v2/a/cpu.max": "200000 100000\n"}},
		{"rounded up", "0::/a\n", v2, "2\n", map[string]string{"v2/a/cpu.max": "150000 100000\n"}},
		{"a part of one", "0::/a\n", v2, "1\n", map[string]string{"v2/a/cpu.max": "1000 100000\n"}},
		{"around it", "0::/a/b/c\n", v2, "3\n", map[string]string{"v2/a/b/c/cpu.max": "max 100000\n", "v2/a/b/cpu.max": "800000 100000\n", "v2/a/cpu.max": "300000 100000\n"}},
		{"within it", "0::/a/b\n", v2, "3\n", map[string]string{"v2/a/b/cpu.max": "300000 100000\n", "v2/a/cpu.max": "800000 100000\n"}},
		{"of another group", "0::/a\n", v2, none, map[string]string{"v2/b/cpu.max": "200000 100000\n"}},
		{"in a container that shows its own part", "0::/\n", v2, "4\n", map[string]string{"v2/cpu.max": "400000 100000\n"}},
		{"in one that names what it cannot see", "0::/host/docker/x\n", v2, "4\n", map[string]string{"v2/cpu.max": "400000 100000\n"}},
		{"beyond the mount", "0::/a\n", v2, none, map[string]string{"v2/a/cpu.max": "max 100000\n", "cpu.max": "100000 100000\n"}},
		{"version 1", "4:cpu,cpuacct:/a/b\n3:cpuset:/z\n", v1, "2\n", map[string]string{
			"v1/cpu,cpuacct/a/cpu.cfs_quota_us": "200000\n", "v1/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
			"v1/cpu,cpuacct/a/b/cpu.cfs_quota_us": "-1\n", "v1/cpu,cpuacct/a/b/cpu.cfs_period_us": "100000\n"}},
		{"version 1, a part of the hierarchy", "4:cpu,cpuacct:/docker/x/a\n", strings.Replace(v1, " / ", " /docker/x ", 1), "5\n", map[string]string{
			"v1/cpu,cpuacct/a/cpu.cfs_quota_us": "250000\n", "v1/cpu,cpuacct/a/cpu.cfs_period_us": "50000\n"}},
		{"version 1, accounting alone", "4:cpuacct:/a\n", "32 31 0:29 / @/v1 rw - cgroup cgroup rw,cpuacct\n", none, map[string]string{
			"v1/a/cpu.cfs_quota_us": "200000\n", "v1/a/cpu.cfs_period_us": "100000\n"}},
		{"both", "4:cpu,cpuacct:/a\n0::/b\n", v1 + v2, "2\n", map[string]string{"v2/b/cpu.max": "200000 100000\n",
			"v1/cpu,cpuacct/a/cpu.cfs_quota_us": "300000\n", "v1/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"}},
		{"damaged", "::\n0\n\n0::\n", "nonsense\n - \n" + v2 + "1 2 3 / / - cgroup2\n", none, map[string]string{"v2/cpu.max": "-5 x\n"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range x.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, path, []byte(text))
			}
			write(t, filepath.Join(dir, "groups"), []byte(x.groups))
			write(t, filepath.Join(dir, "mounts"), []byte(strings.ReplaceAll(x.mounts, "@", dir)))
			if out := succeed(t, dir, program, "groups", "mounts"); out != x.want {
				t.Errorf("%s granted, want %s", out, x.want)
			}
		})
	}
}
