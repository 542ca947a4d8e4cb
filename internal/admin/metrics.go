package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// collector turns a Report into metrics when it is asked for them; the tick
// knows nothing of it. The names are stable.
type collector struct{ config Config }

// Describe says nothing, which makes the collector an unchecked one: a metric
// with a label may have no samples yet.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect reports everything.
func (c collector) Collect(out chan<- prometheus.Metric) {
	r := c.config.Report()
	send := func(kind prometheus.ValueType, value float64, name, help string, labels ...string) {
		keys, values := []string{}, []string{}
		for i := 0; i < len(labels); i += 2 {
			keys, values = append(keys, labels[i]), append(values, labels[i+1])
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, keys, nil), kind, value, values...)
	}
	counter := func(value uint64, name, help string, labels ...string) {
		send(prometheus.CounterValue, float64(value), name, help, labels...)
	}
	gauge := func(value float64, name, help string, labels ...string) {
		send(prometheus.GaugeValue, value, name, help, labels...)
	}
	collectTick(r, counter, gauge)
	collectSystems(r.World.Systems, out)
	gauge(float64(r.World.Awake), "worldd_entities", "Entities, by state of their bodies.", "state", "awake")
	gauge(float64(r.World.Asleep), "worldd_entities", "Entities, by state of their bodies.", "state", "asleep")
	collectEffects(r.World, gauge)
	gauge(1, "worldd_kernels", "Always 1: the vector kernels that this process uses; go means none, and effects are interpreted.", "kernels", cpu.Chosen().String())
	gauge(float64(r.Active), "worldd_clients", "Sessions that have joined.", "transport", "quic")
	collectTraffic(r.Traffic, counter)
	collectCoded(c.config.Schema, r.Replication, counter)
	collectRows(r.Replication, counter)
	counter(r.Sessions.InputsDropped, "worldd_dropped_total", dropped, "reason", "input_queue")
	counter(r.Sessions.ResyncsDropped, "worldd_dropped_total", dropped, "reason", "resync_rate")
	counter(r.Sessions.HellosHeld, "worldd_dropped_total", dropped, "reason", "join_rate")
	collectPackets(c.config.Quic.Packets(), counter)
	for verdict, n := range r.Sessions.CommandVerdicts {
		counter(n, "worldd_handle_verdicts_total", "Verdicts on handles in commands.", "side", "server", "verdict", wire.Verdict(verdict).String())
	}
	counter(r.Sessions.Executed, "worldd_commands_total", "Commands, by result.", "result", "executed")
	counter(r.Sessions.Rejected, "worldd_commands_total", "Commands, by result.", "result", "rejected")
	collectCodes(r.Sessions, counter)
	gauge(float64(r.Away), "worldd_sessions_away", "Sessions whose connection broke and whose clients may come again.")
	counter(r.Sessions.Lost, "worldd_connections_lost_total", "Connections that broke and whose sessions waited for their clients.")
	counter(r.Sessions.Joined, "worldd_sessions_joined_total", "Sessions that began.")
	counter(r.Sessions.Refused, "worldd_connections_refused_total", "Connections that were told why no session begins over them, or said no Hello in time.")
	counter(r.Sessions.Resumed, "worldd_sessions_resumed_total", "Times that a client came again to its session.")
	counter(r.Sessions.Resyncs, "worldd_resyncs_total", "Times that a client found its state at fault and asked for everything anew.")
	for hook, n := range r.Sessions.Panics {
		counter(n, "worldd_hook_panics_total", "Panics of the game that ended a session, by the function that panicked.", "hook", session.Hook(hook).String())
	}
	collectInputs(r.Sessions, counter)
	counter(r.Images.Saved, "worldd_images_total", "Saves of the world, by result.", "result", "saved")
	counter(r.Images.Failed, "worldd_images_total", "Saves of the world, by result.", "result", "failed")
	gauge(r.Images.Blocked.Seconds(), "worldd_image_blocked_seconds", "The longest that a save has kept a tick waiting.")
	gauge(float64(r.Traffic.UnsentBytes), "worldd_send_queue_depth", "Stream bytes that wait for a sender, of all sessions.")
}

const dropped = "What clients sent beyond their limits, by the limit: datagrams, inputs and resyncs dropped, reads of streams and joins put off."

type (
	countFunc func(value uint64, name, help string, labels ...string)
	gaugeFunc func(value float64, name, help string, labels ...string)
)

func collectTick(r Report, counter countFunc, gauge gaugeFunc) {
	for _, q := range []struct {
		quantile string
		value    time.Duration
	}{{"0.5", r.Tick.P50}, {"0.99", r.Tick.P99}, {"1", r.Tick.Max}} {
		gauge(q.value.Seconds(), "worldd_tick_quantile_seconds", "Quantiles of the duration of all ticks since the start.", "quantile", q.quantile)
	}
	counter(r.Tick.Late, "worldd_tick_overruns_total", "Ticks that began more than one interval late.")
	counter(r.Tick.Missed, "worldd_ticks_missed_total", "Ticks that were never made: the world has fallen behind the clock by them.")
	behind := 0.0
	if r.Tick.Behind {
		behind = 1
	}
	gauge(behind, "worldd_ticks_behind", "1 while ticks are persistently late or missed, and the server is not ready for more clients.")
	gauge(r.Tick.SnapshotHz, "worldd_snapshot_rate_hertz", "Snapshots a second that each client is sent now: fewer than configured while there is no time for all.")
	counter(r.Tick.Thinned, "worldd_thinned_ticks_total", "Ticks that had no time for all snapshots whose turn it was.")
}

// collectEffects counts live effects, and those that are interpreted by name too.
func collectEffects(w world.Stats, gauge gaugeFunc) {
	const effects = "Live effects, by what runs their programs. The interpreter takes some 40 times as long as vector kernels."
	interpreted := 0
	for _, e := range w.Interpreted {
		interpreted += e.Live
		gauge(float64(e.Live), "worldd_interpreted_effects", "Live effects that are interpreted, by name of the program.", "effect", e.Name)
	}
	gauge(float64(interpreted), "worldd_effects", effects, "run", "interpreted")
	gauge(float64(w.Effects-interpreted), "worldd_effects", effects, "run", "vector")
}

// collectSystems tells what each system of the world has cost. There are as many
// as the game added.
func collectSystems(systems []world.SystemStats, out chan<- prometheus.Metric) {
	desc := prometheus.NewDesc("worldd_system_duration_seconds", "Duration of the world's systems: the longest run, and the sum.", []string{"system", "phase"}, nil)
	for _, s := range systems {
		out <- prometheus.MustNewConstSummary(desc, s.Runs, s.Total.Seconds(), map[float64]float64{1: s.Longest.Seconds()}, s.Name, s.Phase.String())
	}
}

// collectCodes counts what ended with a code. Those that none has ended with yet are
// told too: of a counter that begins above 0, nobody sees the first step.
func collectCodes(s session.Stats, counter countFunc) {
	count := func(counts map[wire.Code]uint64, ofCommands bool, name, help string) {
		for _, info := range wire.Codes() {
			if _, counted := counts[info.Code]; !counted && ofCommands == (info.Code >= wire.StaleHandle) {
				counter(0, name, help, "code", info.Name)
			}
		}
		for code, n := range counts {
			counter(n, name, help, "code", code.String())
		}
	}
	count(s.Rejections, true, "worldd_command_rejections_total", "Rejected commands, by code.")
	count(s.Closed, false, "worldd_sessions_ended_total", "Sessions that ended, and connections that ended without one, by code.")
}

func collectInputs(s session.Stats, counter countFunc) {
	const name, help = "worldd_inputs_total", "Inputs of clients, by what became of them."
	counter(s.Inputs-s.InputsLate, name, help, "result", "on_time")
	counter(s.InputsLate, name, help, "result", "late")
	counter(s.InputsMissed, name, help, "result", "missed")
	counter(s.InputsEarly, name, help, "result", "early")
	counter(s.InputsDropped, "worldd_input_datagrams_dropped_total", "Input datagrams beyond what one tick takes from one session.")
}

func collectPackets(p quicserve.Packets, counter countFunc) {
	const packets = "UDP packets of clients that got through the handshake, by direction."
	counter(p.Sent, "worldd_packets_total", packets, "dir", "out")
	counter(p.Received, "worldd_packets_total", packets, "dir", "in")
}

func collectTraffic(t quicserve.Traffic, counter countFunc) {
	const (
		handshakes = "Connections, by what became of them."
		datagrams  = "Datagrams, by direction and what became of them."
	)
	counter(t.Handshakes, "worldd_handshakes_total", handshakes, "result", "ok")
	counter(t.HandshakesFailed, "worldd_handshakes_total", handshakes, "result", "no_stream")
	counter(t.HandshakesRefused, "worldd_handshakes_total", handshakes, "result", "refused")
	counter(t.HandshakesCrowded, "worldd_handshakes_total", handshakes, "result", "crowded")
	counter(t.HandshakesFast, "worldd_handshakes_total", handshakes, "result", "too_fast")
	counter(t.HandshakesAddress, "worldd_handshakes_total", handshakes, "result", "address_full")
	counter(t.Retries, "worldd_handshakes_total", handshakes, "result", "retry")
	counter(t.HandshakesPaced, "worldd_handshakes_paced_total", "Handshakes that waited for their turn among many.")
	counter(t.AddressesForgotten, "worldd_addresses_forgotten_total", "Addresses whose rates were forgotten while they counted, since there were too many.")
	counter(t.DatagramsFast, "worldd_dropped_total", dropped, "reason", "datagram_rate")
	counter(t.StreamsHeld, "worldd_dropped_total", dropped, "reason", "stream_rate")
	counter(t.Datagrams, "worldd_datagrams_total", datagrams, "dir", "out", "result", "sent")
	counter(t.DatagramsReplaced, "worldd_datagrams_total", datagrams, "dir", "out", "result", "replaced")
	counter(t.DatagramsRefused, "worldd_datagrams_total", datagrams, "dir", "out", "result", "refused")
	counter(t.ReceivedDatagrams, "worldd_datagrams_total", datagrams, "dir", "in", "result", "received")
	counter(t.DatagramBytes, "worldd_bytes_total", bytesHelp, "dir", "out", "component", "state")
	counter(t.StreamBytes, "worldd_bytes_total", bytesHelp, "dir", "out", "component", "stream")
	counter(t.ReceivedBytes, "worldd_bytes_total", bytesHelp, "dir", "in", "component", "all")
}

const bytesHelp = "Bytes without packet headers, by direction and kind; coded: what was made for clients, by component."

// collectCoded tells what was made for clients by whose it is: of components
// the rows, in snapshots and where entities enter, and of messages what is around
// them. The names of these have a space, which those of components cannot.
func collectCoded(s *schema.Schema, r replication.Stats, counter countFunc) {
	coded := func(bits uint64, component string) {
		counter(bits/8, "worldd_bytes_total", bytesHelp, "dir", "coded", "component", component)
	}
	state, structure := 8*r.StateBytes, 8*r.StructureBytes
	for i := range s.Components() {
		coded(r.StateRowBits[i]+r.EnterRowBits[i], s.Component(i).Name)
		state -= r.StateRowBits[i]
		structure -= r.EnterRowBits[i]
	}
	coded(state, "state headers")
	coded(structure, "structure records")
}

// collectRows tells how rows came by their bits, which is most of what a snapshot
// costs: one that is copied takes a twentieth of one that is coded.
func collectRows(r replication.Stats, counter countFunc) {
	const rows = "Rows in snapshots, by how they came by their bits: coded for the first viewer, or copied for a further one."
	counter(r.Rows-r.RowsCopied, "worldd_rows_total", rows, "bits", "coded")
	counter(r.RowsCopied, "worldd_rows_total", rows, "bits", "copied")
	counter(r.RowsWhole, "worldd_rows_whole_total", "Rows in snapshots that no state the client has acknowledged helped to code.")
	counter(r.RowsLost, "worldd_rows_lost_total", "Rows of snapshots that were taken for lost.")
	const records = "Records of structure, by what they say."
	counter(r.Enters, "worldd_structure_records_total", records, "op", "enter")
	counter(r.Leaves, "worldd_structure_records_total", records, "op", "leave")
	counter(r.Destroys, "worldd_structure_records_total", records, "op", "destroy")
}
