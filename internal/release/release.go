// Package release says which tapc this is: the one place of its version, which programs, libraries, plugins and packages are held to. It imports
// nothing of tapc.
package release

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is that of tapc and of what it builds.
const Version = "0.1.0"

// Revision is the commit that tapc was built from, with "+changes" behind it if files differed from that; "" if the Go build did not record it.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, changes := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changes = "+changes"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + changes
}

// Text is the line that tapc version prints.
func Text() string {
	revision := ""
	if r := Revision(); r != "" {
		revision = " " + r
	}
	return fmt.Sprintf("tapc %s%s %s %s/%s", Version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
