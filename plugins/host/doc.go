// Package host starts plugins and polices them: nothing that a plugin says or does is trusted.
//
// Start runs a plugin's program under a supervisor (on Linux), confined in what it may use and see; RunPass and Emit stream
// a graph to it and take nothing back that is not decoded within limits and verified. However a plugin fails, the error is
// one diagnostic that names it and shows the last that it printed, and nothing of it is left: no process, no socket, no
// directory. This package must not import a pass, a front end or a back end. Read next: host.go;
// plugins/supervise, whose processes these are; docs/plugins.md.
package host
