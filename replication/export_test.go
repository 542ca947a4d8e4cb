package replication

import "github.com/worldd/worldd/bulk"

// Owns reports whether h is the viewer's focus or was added by Own.
func (v *Viewer) Owns(h bulk.Handle) bool { return v.interest.owns(h) }
