// Package supervise starts the process of a plugin, keeps it in bounds while it runs, and ends all that comes of it.
//
// On Linux a supervisor is between tapc and the plugin: it reaps what descends from the plugin, looks at what that uses, and kills all of it
// when the plugin ends, when a limit is passed, or when tapc is gone. Elsewhere a plugin has a process group of its own. What a plugin says is
// not known here. Read next: process.go, then process_linux.go.
package supervise
