package wire

import "fmt"

// Verdict is the state of the entity that a handle names, as known to one viewer.
type Verdict uint8

// Verdicts, as numbered on the wire.
const (
	Pending Verdict = 0 // not arrived yet, or never issued
	Live    Verdict = 1 // in view
	Hidden  Verdict = 2 // left this viewer's interest; may still exist
	Stale   Verdict = 3 // destroyed, or a rejected provisional handle; final

	// Provisional is the verdict on a client's provisional handle until the server answers,
	// which it does exactly once (H7).
	Provisional Verdict = 4
)

// String returns the name in lower case, like "pending".
func (v Verdict) String() string {
	switch v {
	case Pending:
		return "pending"
	case Live:
		return "live"
	case Hidden:
		return "hidden"
	case Stale:
		return "stale"
	case Provisional:
		return "provisional"
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// Reason says why an entity left a viewer's view.
type Reason uint8

// Reasons, as numbered on the wire.
const (
	LeftInterest Reason = 0 // too far, or no longer relevant
	HiddenByRule Reason = 1 // the game hides it from this viewer
)

// String returns the reason in words, like "left interest".
func (r Reason) String() string {
	switch r {
	case LeftInterest:
		return "left interest"
	case HiddenByRule:
		return "hidden by rule"
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}
