package wire

import "fmt"

// Verdict is the state of the entity that a handle names, as known to one viewer.
type Verdict uint8

// Verdicts, as numbered on the wire.
const (
	Pending Verdict = 0 // not arrived yet, or never issued
	Live    Verdict = 1 // in view
	Hidden  Verdict = 2 // left this viewer's interest; may still exist
	Stale   Verdict = 3 // destroyed; final
)

// String returns "pending", "live", "hidden" or "stale".
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
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// Reason says why an entity left a viewer's view or, if it entered, whether the viewer owns
// it.
type Reason uint8

// Reasons, as numbered on the wire. Enter records carry 0 or ReasonOwned.
const (
	ReasonDestroyed    Reason = 1 // Destroy records
	ReasonLeftInterest Reason = 2 // Leave records: too far, or no longer relevant
	ReasonHiddenByRule Reason = 3 // Leave records: the game hides it from this viewer
	ReasonOwned        Reason = 4 // Enter records: the viewer owns it, so its rows have owner-only fields
)

// String returns the reason in words, like "left interest"; "none" for 0.
func (r Reason) String() string {
	switch r {
	case 0:
		return "none"
	case ReasonDestroyed:
		return "destroyed"
	case ReasonLeftInterest:
		return "left interest"
	case ReasonHiddenByRule:
		return "hidden by rule"
	case ReasonOwned:
		return "owned"
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}
