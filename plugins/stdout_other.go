//go:build !unix

package plugins

import "os"

// takeStdout leaves standard output as it is where descriptors can not be moved.
func takeStdout() (*os.File, error) { return os.Stdout, nil }
