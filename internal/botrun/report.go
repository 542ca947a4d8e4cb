package botrun

import (
	"fmt"
	"runtime"

	"github.com/worldd/worldd/loadtest/bot"
)

// Report is the result of a run, in the form that `--json` prints. Data that only the server
// has is nil (null in JSON) unless the caller fills it in.
type Report struct {
	Scenario  bot.Scenario `json:"scenario"`
	Seed      uint64       `json:"seed"`
	Server    string       `json:"server_version"` // of its game, as it told the first bot; empty if nobody connected
	Machine   string       `json:"machine"`        // that the bots ran on, as Machine describes it
	Bots      int          `json:"bots"`           // without attackers
	Connected int          `json:"connected"`      // bots that received a Welcome
	Failed    int          `json:"failed"`         // bots that received none, or whose session broke
	DurationS float64      `json:"duration_s"`     // from the first dial to the last close
	Tick      *Tick        `json:"tick"`
	World     *World       `json:"world"`
	Net       Net          `json:"net"`
	// Input is measured by all bots that move.
	Input   InputLatency `json:"input"`
	Motion  *Motion      `json:"motion"` // nil if bots do not simulate
	Handles Handles      `json:"handles"`
	Joins   Joins        `json:"joins"`
	Outages Outages      `json:"outages"`
	Cost    *Cost        `json:"cost"`    // of the server, while all bots were connected
	Storm   *Storm       `json:"storm"`   // of a JoinStorm
	Attacks *Attacks     `json:"attacks"` // of a Hostile run
	// Game has the numbers of Player.Metrics; nil if the game has none.
	Game map[string]float64 `json:"game"`
	// Series is the run second by second.
	Series []Progress `json:"series"`

	Interrupted bool            `json:"interrupted,omitempty"` // ended early
	Baseline    *Baseline       `json:"-"`                     // nil: nothing to compare with
	Confusions  []bot.Confusion `json:"-"`                     // the first ReportedConfusions
	Failures    []Failure       `json:"-"`                     // the first ReportedFailures
	Divergences []Divergence    `json:"-"`                     // the first ReportedFailures
	Forgotten   uint64          `json:"-"`                     // handles that exceeded the bots' memory
}

// Machine describes this machine: its system and processor, how many processors Go uses, and Go itself.
func Machine() string {
	return fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
}

// Tick is the server's own measurement of its steps during the run.
type Tick struct {
	RateHz int     `json:"rate_hz"`
	Count  uint64  `json:"count"`
	P50Ms  float64 `json:"p50_ms"`
	P99Ms  float64 `json:"p99_ms"`
	MaxMs  float64 `json:"max_ms"`
	Late   uint64  `json:"late"` // steps that began more than an interval late
}

// Cost is the server process's resource use after the ramp, per snapshot sent in that time. It
// includes all work of the process.
type Cost struct {
	Snapshots            uint64  `json:"snapshots_sent"`
	CPUMicrosPerSnapshot float64 `json:"cpu_us_per_snapshot"`
	Cores                float64 `json:"cores"`                // on average
	PacketsPerSnapshot   float64 `json:"packets_per_snapshot"` // UDP, both ways
	BytesPerSnapshot     float64 `json:"bytes_per_snapshot"`   // datagram payload, without packet headers
	ResidentBytes        uint64  `json:"resident_bytes"`       // at the end, with bots still connected
}

// World is the content of the server's world at the end.
type World struct {
	Entities  int    `json:"entities"`
	Awake     int    `json:"awake"`
	Asleep    int    `json:"asleep"`
	Spawned   uint64 `json:"spawned"`
	Destroyed uint64 `json:"destroyed"`
	StateHash string `json:"state_hash"` // 16 hexadecimal digits: JSON numbers are floats
	Reused    uint64 `json:"-"`          // spawns into a slot used before
}

// Net is the network as seen by all bots together.
type Net struct {
	// SnapshotsExpected counts the sequence numbers from a bot's first snapshot to its highest.
	// SnapshotsReceived counts the snapshots that arrived, whether applied or validly dropped.
	// A snapshot is one datagram, or several if it is too large.
	SnapshotsExpected uint64 `json:"snapshots_expected"`
	SnapshotsReceived uint64 `json:"snapshots_received"`
	// DeliveredRatio is received / expected; nil if none were expected.
	DeliveredRatio *float64 `json:"delivered_ratio"`
	// SnapshotHz is the number of ticks for which a bot received a snapshot, per second
	// connected. An overloaded server makes fewer snapshots, which DeliveredRatio does not
	// show.
	SnapshotHz float64 `json:"snapshot_hz"`
	// BytesPerClientS is the bytes that a connected bot receives per second: stream and
	// datagram payload, without QUIC and UDP overhead.
	BytesPerClientS float64 `json:"bytes_per_client_s"`
	// RowsPerClientS is the number of rows per second in applied snapshots.
	RowsPerClientS float64 `json:"rows_per_client_s"`
	// Latency is half of a round trip: the time from sending an input datagram to the arrival
	// of a snapshot that echoes it, minus the time that the server held the echo. It has one
	// sample per snapshot, and is nil without samples.
	Latency
}

// Latency summarises samples. All fields are nil if there are none.
type Latency struct {
	P50Ms  *float64 `json:"latency_p50_ms"`
	P90Ms  *float64 `json:"latency_p90_ms"`
	P99Ms  *float64 `json:"latency_p99_ms"`
	P999Ms *float64 `json:"latency_p999_ms"`
	MaxMs  *float64 `json:"latency_max_ms"`
}

// Joins is the time from dial to first snapshot.
type Joins struct {
	Count uint64   `json:"join_count"`
	P50Ms *float64 `json:"join_p50_ms"`
	P99Ms *float64 `json:"join_p99_ms"`
	MaxMs *float64 `json:"join_max_ms"`
}

// Storm is the effect of a JoinStorm on the bots that joined before it, from its start to the
// end of the run.
type Storm struct {
	Witnesses         int      `json:"witnesses"`
	SnapshotsExpected uint64   `json:"storm_snapshots_expected"`
	SnapshotsReceived uint64   `json:"storm_snapshots_received"`
	DeliveredRatio    *float64 `json:"storm_delivered_ratio"`
	// AllInS is the time from the storm's first dial to its last bot's first snapshot;
	// nil if not all joined.
	AllInS *float64 `json:"storm_all_in_s"`
}

// Handles counts the checks of handles.
type Handles struct {
	// Answers of Resolve to probes, by verdict.
	Live    uint64 `json:"live"`
	Hidden  uint64 `json:"hidden"`
	Pending uint64 `json:"pending"`
	Stale   uint64 `json:"stale"`
	// Probes is their sum.
	Probes     uint64 `json:"probes"`
	Confusions uint64 `json:"confusions"`
	// CommandsSent is at least executed plus rejected: the last answers may be in
	// flight at the end.
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

// String returns a one-line summary.
func (f Failure) String() string { return fmt.Sprintf("bot %d: %s", f.Bot, f.Why) }

// Progress is the state of a run, once per second.
type Progress struct {
	ElapsedS  float64 `json:"elapsed_s"`
	Bots      int     `json:"bots"`
	Connected int     `json:"connected"` // currently, with a snapshot received
	Lost      int     `json:"lost"`      // without a connection that delivers snapshots
	Failed    int     `json:"failed"`
	// Net covers the last second.
	Net     Net                `json:"net"`
	Handles Handles            `json:"handles"` // since the start
	Game    map[string]float64 `json:"game"`    // the same, of Report.Game its counters
	// Motion is nil if bots do not simulate. Its counters are since the start, its rate of
	// the last second.
	Motion *Motion `json:"motion"`
	// Server is the server's own report; nil if it was not requested or did not arrive.
	Server *ServerNow `json:"server"`
}

// ServerNow is the server's state at one moment.
type ServerNow struct {
	TickMeanMs float64 `json:"tick_mean_ms"` // over the last second
	TickP99Ms  float64 `json:"tick_p99_ms"`  // since the start of the run
	Awake      int     `json:"awake"`
	Asleep     int     `json:"asleep"`
}
