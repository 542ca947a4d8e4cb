package bot

import "fmt"

// Report is the result of a run, in the form that `--json` prints. What only
// the server knows is nil, null in JSON, unless whoever runs both fills it in.
type Report struct {
	Scenario  Scenario `json:"scenario"`
	Seed      uint64   `json:"seed"`
	Bots      int      `json:"bots"`       // attackers not counted
	Connected int      `json:"connected"`  // bots that were welcomed
	Failed    int      `json:"failed"`     // bots that were not, or whose session broke
	DurationS float64  `json:"duration_s"` // from the first dial to the last goodbye
	Tick      *Tick    `json:"tick"`
	World     *World   `json:"world"`
	Net       Net      `json:"net"`
	Handles   Handles  `json:"handles"`
	Joins     Joins    `json:"joins"`
	Outages   Outages  `json:"outages"`
	Cost      *Cost    `json:"cost"`    // of the server, while all bots played
	Storm     *Storm   `json:"storm"`   // of a JoinStorm
	Attacks   *Attacks `json:"attacks"` // of a Hostile run
	// Series is the run second by second.
	Series []Progress `json:"series"`

	Interrupted bool        `json:"interrupted,omitempty"` // ended before its time
	Confusions  []Confusion `json:"-"`                     // the first ReportedConfusions
	Failures    []Failure   `json:"-"`                     // the first ReportedFailures
	Forgotten   uint64      `json:"-"`                     // handles that the bots had no room to remember any longer
}

// Tick is the server's own measure of its steps while the run lasted.
type Tick struct {
	RateHz int     `json:"rate_hz"`
	Count  uint64  `json:"count"`
	P50Ms  float64 `json:"p50_ms"`
	P99Ms  float64 `json:"p99_ms"`
	MaxMs  float64 `json:"max_ms"`
	Late   uint64  `json:"late"` // steps that began more than an interval after their time
}

// Cost is what the server's process spent from the end of the ramp on, for the
// snapshots that it sent in that time: the world and everything else included.
type Cost struct {
	Snapshots            uint64  `json:"snapshots_sent"`
	CPUMicrosPerSnapshot float64 `json:"cpu_us_per_snapshot"`
	Cores                float64 `json:"cores"`                // used on average
	PacketsPerSnapshot   float64 `json:"packets_per_snapshot"` // of UDP, both ways
	BytesPerSnapshot     float64 `json:"bytes_per_snapshot"`   // in datagrams, without packet headers
	ResidentBytes        uint64  `json:"resident_bytes"`       // at the end, bots still there
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
	// arrived, were they applied or lawfully dropped. A snapshot is a datagram; what
	// is too large for one takes several.
	SnapshotsExpected uint64 `json:"snapshots_expected"`
	SnapshotsReceived uint64 `json:"snapshots_received"`
	// DeliveredRatio is received / expected; nil if nothing was expected.
	DeliveredRatio *float64 `json:"delivered_ratio"`
	// SnapshotHz is of how many ticks a bot received snapshots, each second it was
	// connected. A server that has no time for all makes fewer, none of which is
	// then missing in DeliveredRatio.
	SnapshotHz float64 `json:"snapshot_hz"`
	// BytesPerClientS is what a bot received each second it was connected:
	// stream and datagrams, without what QUIC and UDP add.
	BytesPerClientS float64 `json:"bytes_per_client_s"`
	// Latency is half of a round trip: from a bot's input datagram going out to
	// the arrival of a snapshot that echoes it, less the time that the server
	// held the echo. One sample a snapshot; nil if there was none.
	Latency
}

// Latency is of a set of samples; all nil if there was none.
type Latency struct {
	P50Ms  *float64 `json:"latency_p50_ms"`
	P90Ms  *float64 `json:"latency_p90_ms"`
	P99Ms  *float64 `json:"latency_p99_ms"`
	P999Ms *float64 `json:"latency_p999_ms"`
	MaxMs  *float64 `json:"latency_max_ms"`
}

// Joins is how long bots took from dialling to their first snapshot.
type Joins struct {
	Count uint64   `json:"join_count"`
	P50Ms *float64 `json:"join_p50_ms"`
	P99Ms *float64 `json:"join_p99_ms"`
	MaxMs *float64 `json:"join_max_ms"`
}

// Storm is what a JoinStorm did to those who were there before, from its
// begin to the end of the run.
type Storm struct {
	Witnesses         int      `json:"witnesses"`
	SnapshotsExpected uint64   `json:"storm_snapshots_expected"`
	SnapshotsReceived uint64   `json:"storm_snapshots_received"`
	DeliveredRatio    *float64 `json:"storm_delivered_ratio"`
	// AllInS is from the first dial of the storm to the first snapshot of its
	// last bot; nil if not all came in.
	AllInS *float64 `json:"storm_all_in_s"`
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
func (r *Report) OK() bool { return r.Passed(nil) }

// Progress is a run so far, once a second.
type Progress struct {
	ElapsedS  float64 `json:"elapsed_s"`
	Bots      int     `json:"bots"`
	Connected int     `json:"connected"` // at present, and sent snapshots
	Lost      int     `json:"lost"`      // connections in whose place there is none yet that brings snapshots
	Failed    int     `json:"failed"`
	// Net is of the last second.
	Net     Net     `json:"net"`
	Handles Handles `json:"handles"` // since the start
	// Server is what the server says of itself; nil if nobody asked it.
	Server *ServerNow `json:"server"`
}

// ServerNow is the server at one moment of a run.
type ServerNow struct {
	TickMeanMs float64 `json:"tick_mean_ms"` // of the steps of the last second
	TickP99Ms  float64 `json:"tick_p99_ms"`  // since the run began
	Awake      int     `json:"awake"`
	Asleep     int     `json:"asleep"`
}
