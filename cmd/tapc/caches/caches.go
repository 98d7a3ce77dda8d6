// Package caches is the command `tapc cache`. Read next: internal/filecache.
package caches

import (
	"fmt"
	"io"

	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/ir/diag"
)

// Help is the text of --help.
const Help = `Look at the cache of compiled objects, or empty it.

Objects that the C compiler made are kept by a digest of what they are made of, in
tapc/objects of the user's cache folder or in the folder that TAPC_CACHE names;
TAPC_CACHE=off keeps none. The folder and each entry must belong to the user, be
writable by nobody else, and be no symbolic link; an entry must have the content that
was written. What does not hold is not used: its object is compiled again.

What tapc tune measured is in the folder tuned of that folder. It stays when the cache is
emptied: clean --tuned removes it.`

// InfoHelp and CleanHelp are those of its commands.
const (
	InfoHelp  = "Say where the cache is, what it holds, its limits, and what the next build drops; or why\nthere is none."
	CleanHelp = "Remove the entries of the cache. Other files in its folder stay."
)

// Info says what the caches hold.
func Info(to io.Writer) error {
	cache, err := filecache.Open()
	if err != nil {
		_, err = fmt.Fprintf(to, "no cache: %v\n", err)
		return err
	}
	defer cache.Close()
	i := cache.Info()
	_, err = fmt.Fprintf(to, "folder:  %s\nentries: %d (limit %d)\nbytes:   %d (limit %d)\ndropped by the next build that adds to it: %d entries, %d bytes\n", i.Folder,
		i.Entries, filecache.MaxEntries, i.Bytes, filecache.MaxBytes, i.Surplus, i.SurplusSize)
	if err != nil {
		return err
	}
	tuned, err := filecache.OpenTuned()
	if err != nil {
		_, err = fmt.Fprintf(to, "nothing is tuned: %v\n", err)
		return err
	}
	defer tuned.Close()
	_, err = fmt.Fprintf(to, "tuned:   %d kernels\n", tuned.Info().Entries)
	return err
}

// Clean removes the entries of the cache of objects, or of what was measured.
func Clean(to io.Writer, tuned bool) error {
	open := filecache.Open
	if tuned {
		open = filecache.OpenTuned
	}
	cache, err := open()
	if err != nil {
		return diag.Fault("no cache: %w", err)
	}
	defer cache.Close()
	n, bytes, err := cache.Clean()
	fmt.Fprintf(to, "removed %d entries, %d bytes\n", n, bytes)
	if err != nil {
		return diag.Fault("%w", err)
	}
	return nil
}
