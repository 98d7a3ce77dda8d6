// Package installed knows which plugins a project or a user has: a lock file that says what each provides, what it may use and what its
// file's digest is, and a directory for their files.
//
// Nothing is run that the lock file does not name, and no file that differs from the one that was locked. What a plugin asks for beyond its own
// temporary directory is in a manifest beside it. Read next: place.go; docs/plugins.md.
package installed
