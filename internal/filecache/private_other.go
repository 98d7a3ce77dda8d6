//go:build !unix

package filecache

import "io/fs"

// Private is an error unless a file or folder belongs to this user and nobody else may write it. Here the folder of the user's cache, which
// other users can not write, is taken for that.
func Private(fs.FileInfo) error { return nil }
