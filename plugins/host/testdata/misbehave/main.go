// Command misbehave is a plugin that does one wrong thing, which the name of its file says. The tests of plugins/host start it
// under many names.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tensortapestry.org/tapc/plugins"
)

func main() {
	name := filepath.Base(os.Args[0])
	if len(os.Args) > 1 {
		if os.Args[1] == "child" {
			time.Sleep(time.Hour)
		}
		return
	}
	if f := starts[name]; f != nil {
		f()
		return
	}
	if f := raws[name]; f != nil {
		serveRaw(f)
		if name == "stays" { // it was asked to end
			select {}
		}
		return
	}
	plugins.Serve(plugins.Plugin{Name: "misbehave", Version: "1.0.0", Passes: []plugins.Pass{well(name)}})
}

// starts are the things done wrong before the plugin serves.
var starts = map[string]func(){
	"exits-0": func() {},
	"exits-3": func() {
		fmt.Fprintln(os.Stderr, "the license server is down")
		os.Exit(3)
	},
	"panics-at-start": func() { panic("no configuration") },
	"prints-first": func() {
		fmt.Println("Hello from the library!")
		plugins.Serve(plugins.Plugin{Name: "misbehave", Version: "1.0.0", Passes: []plugins.Pass{well("good")}})
	},
	"prints-blank": func() {
		fmt.Print("\n\n")
		plugins.Serve(plugins.Plugin{Name: "misbehave", Version: "1.0.0", Passes: []plugins.Pass{well("good")}})
	},
	"prints-only":  func() { fmt.Println("usage: grep PATTERN") },
	"prints-on":    func() { forever(func() { fmt.Println(strings.Repeat("y", 1000)) }) },
	"prints-waits": func() { fmt.Println("Password:"); time.Sleep(time.Hour) },
	"silent":       func() { time.Sleep(time.Hour) },
	"closes-stdout": func() {
		os.Stdout.Close()
		time.Sleep(time.Hour)
	},
	"floods-at-start":  func() { forever(func() { fmt.Fprintln(os.Stderr, strings.Repeat("e", 1000)) }) },
	"version-7":        func() { shake("1|7|unix|%s/socket|grpc|AAAA") },
	"core-9":           func() { shake("9|1|unix|%s/socket|grpc|AAAA") },
	"netrpc":           func() { shake("1|1|unix|%s/socket|netrpc|AAAA") },
	"elsewhere":        func() { shake("1|1|tcp|127.0.0.1:80|grpc|AAAA%.0s") },
	"linked-socket":    linkedSocket,
	"plain-file":       func() { shake("1|1|unix|%s/../file|grpc|" + someCertificate()) },
	"no-certificate":   func() { shake("1|1|unix|%s/socket|grpc|") },
	"bad-certificate":  func() { shake("1|1|unix|%s/socket|grpc|" + strings.Repeat("AAAA", 30)) },
	"no-listener":      func() { shake("1|1|unix|%s/socket|grpc|" + someCertificate()) },
	"bad-description":  func() { plugins.Serve(plugins.Plugin{Name: "No Name", Version: "one"}) },
	"uses-environment": func() { fmt.Println("ENV " + strings.Join(os.Environ(), " ")) },
}

func shake(line string) {
	os.WriteFile("file", nil, 0o600)
	fmt.Printf(line+"\n", os.Getenv("PLUGIN_UNIX_SOCKET_DIR"))
	time.Sleep(time.Hour)
}

func forever(f func()) {
	for {
		f()
	}
}
