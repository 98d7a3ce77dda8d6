// Command release makes the archives of a release: for each system a static tapc with its manual pages, shell completions, documentation and
// license, a list of what is in it (SBOM, CycloneDX), and the digests of all.
//
//	go run ./tools/release -o dist
//	go run ./tools/release -o dist -systems linux/amd64
//
// Two runs over one commit give the same bytes. Each system's code is vetted first. Read next: archive.go, sbom.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"tensortapestry.org/tapc/internal/release"
)

// systems are those that archives are for.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

func main() {
	out := flag.String("o", "dist", "folder to write into")
	list := flag.String("systems", strings.Join(systems, ","), "systems, separated by commas")
	vet := flag.Bool("vet", true, "vet each system's code first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	m := &maker{out: *out, vet: *vet, log: os.Stderr}
	if err := m.make(ctx, strings.Split(*list, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// maker makes archives.
type maker struct {
	out   string
	vet   bool
	log   *os.File
	extra map[string][]byte // files of every archive
}

// make writes the archives of systems, and the digests of all files.
func (m *maker) make(ctx context.Context, systems []string) error {
	for _, s := range systems {
		if os, arch, ok := strings.Cut(s, "/"); !ok || os == "" || arch == "" {
			return fmt.Errorf("%q: expected a system and a processor, as in linux/amd64", s)
		}
	}
	if err := os.MkdirAll(m.out, 0o777); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tapc-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := m.collect(ctx, dir); err != nil {
		return err
	}
	var written []string
	for _, s := range systems {
		files, err := m.system(ctx, dir, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		written = append(written, files...)
	}
	return writeSums(m.out, written)
}

// system makes the archive of one system, and its list of parts; it gives their names.
func (m *maker) system(ctx context.Context, dir, system string) ([]string, error) {
	goos, arch, _ := strings.Cut(system, "/")
	environment := []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + arch, "GOFLAGS=-trimpath"}
	if m.vet {
		fmt.Fprintf(m.log, "%s: vet\n", system)
		if _, err := run(ctx, environment, "go", "vet", "./cmd/...", "./library/..."); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(m.log, "%s: build\n", system)
	program := filepath.Join(dir, goos+"-"+arch, "tapc"+map[string]string{"windows": ".exe"}[goos])
	if _, err := run(ctx, environment, "go", "build", "-buildvcs=auto", "-ldflags=-s -w -buildid=", "-o", program, "./cmd/tapc"); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("tapc-%s-%s-%s", release.Version, goos, arch)
	parts, err := partsOf(program, name)
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{filepath.Base(program): binary}
	for name, data := range m.extra {
		files[name] = data
	}
	pack, suffix := tarball, ".tar.gz"
	if goos == "windows" {
		pack, suffix = zipped, ".zip"
	}
	archive, err := pack(name, files)
	if err != nil {
		return nil, err
	}
	written := map[string][]byte{name + suffix: archive, name + ".cdx.json": parts}
	var names []string
	for name, data := range written {
		if err := os.WriteFile(filepath.Join(m.out, name), data, 0o666); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// collect makes what every archive has, by a tapc for this machine.
func (m *maker) collect(ctx context.Context, dir string) error {
	self := filepath.Join(dir, "tapc-here")
	if runtime.GOOS == "windows" {
		self += ".exe"
	}
	if _, err := run(ctx, []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath"}, "go", "build", "-o", self, "./cmd/tapc"); err != nil {
		return err
	}
	man := filepath.Join(dir, "man")
	if err := os.Mkdir(man, 0o777); err != nil {
		return err
	}
	if _, err := run(ctx, nil, self, "docs", "--man", man); err != nil {
		return err
	}
	m.extra = map[string][]byte{}
	for shell, file := range map[string]string{"bash": "tapc.bash", "zsh": "_tapc", "fish": "tapc.fish", "powershell": "tapc.ps1"} {
		text, err := run(ctx, nil, self, "completion", shell)
		if err != nil {
			return err
		}
		m.extra["completions/"+file] = text
	}
	return errors.Join(m.take("man/man1", man, "*.1"), m.take("docs", "docs", "*.md"), m.take("", ".", "LICENSE"), m.take("", ".", "README.md"), m.take("", ".", "CHANGELOG.md"))
}

// take reads the files of a folder that a pattern matches.
func (m *maker) take(to, dir, pattern string) error {
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("there is no %s in %s", pattern, dir)
	}
	for _, name := range names {
		data, readErr := os.ReadFile(name)
		if readErr != nil {
			return readErr
		}
		m.extra[strings.TrimPrefix(to+"/"+filepath.Base(name), "/")] = data
	}
	return err
}

// run gives what a command prints.
func run(ctx context.Context, environment []string, command string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Env = append(os.Environ(), environment...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", command, strings.Join(args, " "), err, said.String())
	}
	return out, nil
}
