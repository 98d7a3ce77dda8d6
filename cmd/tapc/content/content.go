// Package content holds what a file of a graph has, and gives its memory back while it is not needed. It sets how often garbage is collected
// while graphs are read and compiled. It must not know what is in a file.
package content

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"tensortapestry.org/tapc/internal/inputfile"
)

// Content is what a file holds: in memory or, once it is released, read again when it is needed.
type Content struct {
	Data    []byte // nil where it was released
	name    string // "" for what can be read only once
	size    int64
	changed time.Time
}

// releaseFrom is the size from which a content is not kept in memory.
const releaseFrom = 1 << 20

// Read reads a file.
func Read(name string) (*Content, error) {
	data, err := inputfile.ReadText(name, inputfile.Any)
	if err != nil {
		return nil, err
	}
	c := &Content{Data: data}
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(data)) {
		c.name, c.size, c.changed = name, info.Size(), info.ModTime()
	}
	return c, nil
}

// Release gives the memory of a large content back; it says whether it is large.
func (c *Content) Release() bool {
	large := len(c.Data) >= releaseFrom
	if large && c.name != "" {
		c.Data = nil
	}
	return large
}

// Bytes gives the content. It is an error if the file has changed since it was first read.
func (c *Content) Bytes() ([]byte, error) {
	if c.Data != nil || c.name == "" {
		return c.Data, nil
	}
	again, err := Read(c.name)
	if err != nil {
		return nil, err
	}
	if again.size != c.size || !again.changed.Equal(c.changed) {
		return nil, fmt.Errorf("%s has changed since it was read", c.name)
	}
	c.Data = again.Data
	return c.Data, nil
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

// CollectWhileReading sets the collector for reading unless the environment sets it, and says whether it did.
func CollectWhileReading() bool {
	if os.Getenv("GOGC") != "" {
		return false
	}
	debug.SetGCPercent(readingPercent)
	return true
}

// GraphRead gives memory back that reading a graph took, and sets the collector for work on a large graph if CollectWhileReading did.
func GraphRead(text *Content, tuned bool) {
	size := len(text.Data)
	if large := text.Release(); !large || !tuned {
		return
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	live := m.HeapAlloc
	if text.Data == nil { // the bytes of a model are mostly constants, which the graph does not hold
		live -= min(live-1, uint64(size))
	}
	debug.SetGCPercent(int(min(max(workingPercent, workingRoom*100/live), readingPercent)))
}

// CollectWhileCompiling sets the collector for taking a graph through all stages, if CollectWhileReading did.
func CollectWhileCompiling(tuned bool) {
	if !tuned {
		return
	}
	if now := debug.SetGCPercent(compilingPercent); now > compilingPercent { // a small graph
		debug.SetGCPercent(now)
	}
}
