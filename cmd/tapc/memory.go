package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"tensortapestry.org/tapc/internal/inputfile"
)

// content is what a file holds: in memory or, once it is released, read again when it is needed.
type content struct {
	data    []byte
	name    string // "" for what can be read only once
	size    int64
	changed time.Time
}

// releaseFrom is the size from which a content is not kept in memory.
const releaseFrom = 1 << 20

func readContent(name string) (*content, error) {
	data, err := inputfile.ReadText(name, inputfile.Any)
	if err != nil {
		return nil, err
	}
	c := &content{data: data}
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(data)) {
		c.name, c.size, c.changed = name, info.Size(), info.ModTime()
	}
	return c, nil
}

// release gives the memory of a large content back; it says whether it is large.
func (c *content) release() bool {
	large := len(c.data) >= releaseFrom
	if large && c.name != "" {
		c.data = nil
	}
	return large
}

// bytes gives the content. It is an error if the file has changed since it was first read.
func (c *content) bytes() ([]byte, error) {
	if c.data != nil || c.name == "" {
		return c.data, nil
	}
	again, err := readContent(c.name)
	if err != nil {
		return nil, err
	}
	if again.size != c.size || !again.changed.Equal(c.changed) {
		return nil, fmt.Errorf("%s has changed since it was read", c.name)
	}
	c.data = again.data
	return c.data, nil
}

// Garbage is collected in three ways. While a graph is read, little of what is allocated is garbage, so collections are rare.
// While passes work on a large graph, most of the memory is the graph, so they come when garbage is a part of it. A compilation
// allocates a hundred times what the graph takes: collections as frequent as that would be half of its time.
const (
	readingPercent   = 500
	workingPercent   = 8
	workingRoom      = 8 << 20 // bytes of garbage that are always allowed
	compilingPercent = 100
)

// collectWhileReading sets the collector for reading unless the environment sets it, and says whether it did.
func collectWhileReading() bool {
	if os.Getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(readingPercent)
	return true
}

// graphRead gives memory back that reading a graph took, and sets the collector for work on a large graph.
func (a *app) graphRead(text *content) {
	size := len(text.data)
	if large := text.release(); !large || !a.tuned {
		return
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	live := m.HeapAlloc
	if text.data == nil { // the bytes of a model are mostly constants, which the graph does not hold
		live -= min(live-1, uint64(size))
	}
	debug.SetGCPercent(int(min(max(workingPercent, workingRoom*100/live), readingPercent)))
}

// collectWhileCompiling sets the collector for taking a graph through all stages.
func (a *app) collectWhileCompiling() {
	if !a.tuned {
		return
	}
	if now := debug.SetGCPercent(compilingPercent); now > compilingPercent { // a small graph
		debug.SetGCPercent(now)
	}
}
