// Package fault names the deliberate defects that the proofs are proved with. A
// suite that stays green under a fault is a suite that proves nothing.
//
// Each is a constant false at the place where the code would be wrong, so that
// neither the defect nor the question is left in a product. Built with the tag
// faults, each is a variable that a test injects.
//
//	go test -tags faults -run Fault ./server/session ./loadtest/bot
//
// replication/README.md has the table of what each breaks and what catches it.
package fault
