package bot

import "fmt"

// Report is the result of a run, in the form that `--json` prints. What only
// the server knows is nil, null in JSON, unless whoever runs both fills it in.
type Report struct {
	Bots      int     `json:"bots"`
	Connected int     `json:"connected"`  // bots that were welcomed
	Failed    int     `json:"failed"`     // bots that were not, or whose session broke
	DurationS float64 `json:"duration_s"` // from the first dial to the last goodbye
	Tick      *Tick   `json:"tick"`
	World     *World  `json:"world"`
	Net       Net     `json:"net"`
	Handles   Handles `json:"handles"`

	Interrupted bool        `json:"-"` // ended before its time
	Confusions  []Confusion `json:"-"` // the first ReportedConfusions
	Failures    []Failure   `json:"-"` // the first ReportedFailures
	Forgotten   uint64      `json:"-"` // handles that the bots had no room to remember any longer
}

// Tick is the server's own measure of its steps.
type Tick struct {
	RateHz int     `json:"rate_hz"`
	Count  uint64  `json:"count"`
	P50Ms  float64 `json:"p50_ms"`
	P99Ms  float64 `json:"p99_ms"`
	MaxMs  float64 `json:"max_ms"`
	Late   uint64  `json:"late"` // steps that began more than an interval after their time
}

// World is what the server's world held at the end.
type World struct {
	Entities  int    `json:"entities"`
	Awake     int    `json:"awake"`
	Asleep    int    `json:"asleep"`
	Spawned   uint64 `json:"spawned"`
	Destroyed uint64 `json:"destroyed"`
	StateHash string `json:"state_hash"` // 16 hexadecimal digits: JSON numbers are floats
	Reused    uint64 `json:"-"`          // of the spawned, those into a slot used before
}

// Net is what the bots saw of the network, added up over all of them.
type Net struct {
	// SnapshotsExpected counts the sequence numbers from the first snapshot
	// that a bot received to the highest, and SnapshotsReceived those that
	// arrived, were they applied or lawfully dropped.
	SnapshotsExpected uint64 `json:"snapshots_expected"`
	SnapshotsReceived uint64 `json:"snapshots_received"`
	// DeliveredRatio is received / expected; nil if nothing was expected.
	DeliveredRatio *float64 `json:"delivered_ratio"`
	// BytesPerClientS is what a bot received each second it was connected:
	// stream and datagrams, without what QUIC and UDP add.
	BytesPerClientS float64 `json:"bytes_per_client_s"`
	// Latency is half of a round trip: from a bot's input datagram going out to
	// the arrival of a snapshot that echoes it, less the time that the server
	// held the echo. One sample a snapshot; nil if there was none.
	LatencyP50Ms *float64 `json:"latency_p50_ms"`
	LatencyP99Ms *float64 `json:"latency_p99_ms"`
}

// Handles is how the bots proved that handles do not lie.
type Handles struct {
	// The answers of Resolve to the probes, by verdict.
	Live    uint64 `json:"live"`
	Hidden  uint64 `json:"hidden"`
	Pending uint64 `json:"pending"`
	Stale   uint64 `json:"stale"`
	// Probes is their sum.
	Probes     uint64 `json:"probes"`
	Confusions uint64 `json:"confusions"`
	// CommandsSent is not less than executed and rejected together: answers to
	// the last ones may be under way at the end.
	CommandsSent     uint64 `json:"commands_sent"`
	CommandsExecuted uint64 `json:"commands_executed"`
	CommandsRejected uint64 `json:"commands_rejected"`
}

func (h *Handles) add(o Handles) {
	h.Live += o.Live
	h.Hidden += o.Hidden
	h.Pending += o.Pending
	h.Stale += o.Stale
	h.Probes += o.Probes
	h.Confusions += o.Confusions
	h.CommandsSent += o.CommandsSent
	h.CommandsExecuted += o.CommandsExecuted
	h.CommandsRejected += o.CommandsRejected
}

// Failure is a bot that could not join, or whose session broke.
type Failure struct {
	Bot int    `json:"bot"`
	Why string `json:"why"`
}

// String is one line for people.
func (f Failure) String() string { return fmt.Sprintf("bot %d: %s", f.Bot, f.Why) }

// OK says whether the run proves what it set out to: every bot connected, none
// failed, and no handle lied.
func (r *Report) OK() bool {
	return r.Connected == r.Bots && r.Failed == 0 && r.Handles.Confusions == 0
}

// Progress is a run so far, once a second.
type Progress struct {
	ElapsedS  float64 `json:"elapsed_s"`
	Bots      int     `json:"bots"`
	Connected int     `json:"connected"` // at present
	Failed    int     `json:"failed"`
	// BytesPerClientS is of the last second.
	BytesPerClientS float64 `json:"bytes_per_client_s"`
	Handles         Handles `json:"handles"` // since the start
}
