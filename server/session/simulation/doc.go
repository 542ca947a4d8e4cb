// Package simulation tests that a handle never lies: it plays scripts with a server core,
// its world and its clients over bad links, and compares what both ends say with what
// happened. It has tests only. Tables in replication/README.md list the events that scripts
// cover and the invariants that are checked.
//
// # Scripts
//
// A script (script_test.go) is the settings of a world and a list of operations, each at a
// tick. The type sim (simulation_test.go) plays it in one goroutine: a session.Core with a game
// (operations_test.go, callbacks_test.go), a client.Session for each viewer (client_test.go),
// and between them links that lose, delay, reorder and break (conn_test.go). Time is counted in
// ticks, and all randomness follows from the seed, so a script does the same on every machine
// with the same flags -viewers and -short.
// Sessions that move between several rooms have a smaller simulation of their own
// (rooms_test.go), and so have a server that crashes and its journal (crash_test.go), and moves
// between rooms that a crash cuts (crash_moves_test.go).
//
// # The oracle
//
// The oracle keeps the history of every handle ever issued (life), and parses the server's
// stream at both ends. From these it computes in every tick what each client and each
// viewer must answer about each handle (oracle_test.go), and which states clients may show.
// Each failure names the invariant that was broken: H1 to H7, or one of a package; or
// typed, simulation or panic. Texts, events and provisional handles are checked in the file
// of their operations, computed bodies in oracle_exact_test.go. A simulation also counts
// events (coverage): an event that no seed caused fails the test.
//
// # Running and shrinking a seed
//
//	go test ./server/session/simulation -run HandlesNeverLie              # hundreds of seeds
//	go test ./server/session/simulation -run HandlesNeverLie -seeds 10000 # thousands
//	go test ./server/session/simulation -run HandlesNeverLie -seed 17     # one
//	go test ./server/session/simulation -run Crashes -crashes 10000       # the server that crashes
//	go test ./server/session/simulation -run Crashes -crash 17
//	go test ./server/session/simulation -run MoveCrashes -moves 1000      # rooms between which sessions move
//
// A seed that fails is shrunk by delta debugging (script.shrink) to the fewest operations,
// viewers and ticks that break the same invariant, and printed as text. Put the text into
// testdata/scripts with a line on its cause: TestScriptsThatFailed plays every script there.
//
// # Adding an operation
//
//  1. Name it and its arguments in the table operations (script_test.go). Numbers stand for
//     entities and viewers modulo their count, so that a shrunk script is valid.
//  2. Carry it out in sim.do or simClient.do. If hooks may do it, let its generator add the
//     prefix hook: the lists serverOps and clientOps (callbacks_test.go) must not grow, since
//     all seeds draw from them.
//  3. Let some seeds use it (generate_test.go). Draw last, or from a source of its own, so that
//     the operations of all seeds stay as they were; recorded vectors must not change.
//  4. Teach the oracle what must follow from it. Count it in coverage, and require it in
//     coverage.requireAll.
//  5. Add a deliberate defect that the new check must catch to package internal/fault.
//
// # Vectors
//
// The conformance vectors of sessions are recordings of one client in some simulations, and
// cases made by hand from a short recording. The files vectors*_test.go make and check them:
//
//	go test ./server/session/simulation -run Vectors -vectors.update
package simulation
