// Command c is libworldd, the client as a library for engines: worldd.h is its interface, and README.md its page.
// build.sh makes it with -buildmode=c-shared or c-archive.
//
//	host ─► worldd.h ─► shim.c (pointers, sizes, floating point) ─► exports.go ─► table ─► hostedClient ─► client.Client
//
// The package is a module of its own, since it alone needs a C compiler: all other packages build, cross-compile and are
// checked without one. Behind a build tag these checks would not see the package, and every game that imports worldd would have
// cgo in its module.
//
// # Invariants
//
//	E1 No panic reaches C. The client of the call ends, and the call returns WD_FAULT.
//	E2 No call through a client that was destroyed, or never created, reaches another client.
//	E3 Go keeps no pointer of the host after a call, but the step function and user of wd_predict. The host receives none of Go's,
//	   but the state and input of a step for the time of its call.
//	E4 Two calls for one client never overlap: the later one returns WD_BUSY.
//	E5 What waits for the host is bounded, in number and bytes.
package main
