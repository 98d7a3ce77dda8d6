//go:build linux

package libraries_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestServers asks the example servers from many threads, rightly and wrongly.
func TestServers(t *testing.T) {
	dir := t.TempDir()
	lib := filepath.Join(dir, "libdigits.so")
	do(t, dir, nil, tapc(t), "build", absolute(t, "examples/classifier/classifier.loom.json"), "--emit=lib", "--name=digits", "-o", lib)
	t.Run("c", func(t *testing.T) {
		do(t, dir, nil, "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I.", absolute(t, "examples/server/c/server.c"), lib, "-pthread", "-o", "cserver")
		asked(t, exec.Command(filepath.Join(dir, "cserver"), "0"))
	})
	t.Run("go", func(t *testing.T) {
		do(t, root, nil, "go", "build", "-o", filepath.Join(dir, "goserver"), "./examples/server/go")
		asked(t, exec.Command(filepath.Join(dir, "goserver"), lib, "127.0.0.1:0"))
	})
	t.Run("python", func(t *testing.T) {
		cmd := exec.Command(python(t), absolute(t, "examples/server/python/server.py"), lib, "0")
		cmd.Env = append(os.Environ(), pythonEnvironment(t)...)
		asked(t, cmd)
	})
}

// image gives the bytes of the elements of one of the example images.
func image(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(absolute(t, "examples/classifier/"+name+".npy"))
	if err != nil {
		t.Fatal(err)
	}
	return data[len(data)-784*4:] // behind the header
}

// asked starts a server, which says where it listens, and asks it.
func asked(t *testing.T, server *exec.Cmd) {
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Fatalf("%v: the server says %q", err, line)
	}
	client := &http.Client{Timeout: time.Minute}
	ask := func(body []byte) (status int, answer struct {
		Digit *int
		Error string
	}) {
		response, err := client.Post("http://"+address+"/", "application/octet-stream", bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Errorf("%v in %q", err, text)
		}
		return response.StatusCode, answer
	}
	var group sync.WaitGroup
	for digit, name := range []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"} {
		pixels := image(t, name)
		group.Go(func() {
			for range 3 {
				if status, a := ask(pixels); status != http.StatusOK || a.Digit == nil || *a.Digit != digit {
					t.Errorf("%s: status %d, %+v", name, status, a)
				}
			}
			if status, a := ask(pixels[:783*4]); status != http.StatusBadRequest || a.Error != "expected an image of 784 float32" {
				t.Errorf("an image that is too small: status %d, %+v", status, a)
			}
		})
	}
	group.Wait()
	if response, err := client.Get("http://" + address + "/"); err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("GET: %v, %v", response, err)
	}
}
