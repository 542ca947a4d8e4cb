// Command c is libworldd, the client as a library for engines: worldd.h is its interface, and README.md its page.
// build.sh makes it with -buildmode=c-shared or c-archive.
//
//	host ─► worldd.h ─► shim.c (pointers, sizes, floating point) ─► exports.go ─► table ─► host ─► client.Client
//
// It is a module of its own, since it alone needs a C compiler: all other packages build, cross-compile and are
// checked without one. A build tag would hide it from the same checks, and leave cgo in the module of those who import worldd.
//
// # Invariants
//
//	E1 No panic reaches C. The client of the call ends, and the call returns WD_FAULT.
//	E2 No call through a client that was destroyed, or never created, reaches another client.
//	E3 Go keeps no pointer of the host after a call, and the host receives none of Go's.
//	E4 Two calls for one client never overlap: the later one returns WD_BUSY.
//	E5 What waits for the host is bounded, in number and bytes.
package main
