// Package fault names the deliberate defects that the proofs are proved with:
// each is compiled in by a build tag of its own and is a constant false
// otherwise, so that a release build contains neither the defect nor a test
// for it. A suite that stays green under a fault is a suite that proves
// nothing.
//
//	go test -tags fault_generation ./loadtest/bot   // the bots must report confusions
package fault
