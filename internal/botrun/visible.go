package botrun

import "time"

// InputLatency is the time from an input that changes a bot's course until the bot's picture
// shows the change in its own avatar, without prediction: about a round trip plus the picture's
// delay. All fields are nil without samples.
type InputLatency struct {
	P50Ms *float64 `json:"input_visible_p50_ms"`
	P90Ms *float64 `json:"input_visible_p90_ms"`
	P99Ms *float64 `json:"input_visible_p99_ms"`
	MaxMs *float64 `json:"input_visible_max_ms"`
}

// visibleWithin bounds the wait for an input's effect.
const visibleWithin = 5 * time.Second

// inputWatch measures InputLatency. It computes the moment at which Render aims instead of
// rendering, since a client that renders sends view moments with its inputs.
//
// An input may have no effect: at the edge of the world, or as the first one of a bot that rests. So
// a later change of course is watched instead as soon as a view with the input shows no change.
type inputWatch struct {
	pending bool
	applied bool // a view with the input has shown no change
	pressed time.Time
	tick    uint32     // the input's tick
	before  [3]float32 // velocity without it
	last    uint32     // newest snapshot with velocity before
}

// view is the state of a bot's avatar after a snapshot.
type view struct {
	tick, applied uint32     // of the snapshot, and of the newest input applied by then
	velocity      [3]float32 // of the avatar
	moment        float64    // shown by a picture drawn now, in ticks
	hz            float64    // ticks a second
	exact         bool       // the client computes the avatar: its picture turns in the last tick
}

// beginWatch records a change of course, made at now for a tick.
func (w *inputWatch) beginWatch(now time.Time, tick uint32, v view) {
	if !w.pending || w.applied {
		*w = inputWatch{pending: true, pressed: now, tick: tick, before: v.velocity, last: v.tick}
	}
}

// observeView returns the latency of the pending input if v is the first view with its effect.
func (w *inputWatch) observeView(now time.Time, v view) (latency time.Duration, ok bool) {
	waited := now.Sub(w.pressed)
	switch {
	case !w.pending:
		return 0, false
	case waited > visibleWithin:
		w.pending = false
		return 0, false
	case v.applied < w.tick: // an earlier input has caused any change
		w.before, w.last = v.velocity, v.tick
		return 0, false
	case v.velocity == w.before:
		w.last, w.applied = v.tick, true
		return 0, false
	}
	w.pending = false
	turns := w.last // the picture turns between the two states
	if v.exact {
		turns = v.tick - 1
	}
	hidden := max(float64(turns)-v.moment, 0) // ticks
	return waited + time.Duration(hidden/v.hz*float64(time.Second)), true
}
