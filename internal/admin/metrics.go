package admin

import (
	"crypto/tls"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
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

// collector converts a Report to metrics at each scrape. The names are stable.
type collector struct{ config Config }

// Describe sends nothing, which makes the collector unchecked: a metric with a label may
// have no samples yet.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	r := c.config.Report()
	var common []string // labels of every metric: the kind of rooms
	split := func(labels []string) (keys, values []string) {
		for i := 0; i < len(labels); i += 2 {
			keys, values = append(keys, labels[i]), append(values, labels[i+1])
		}
		return keys, values
	}
	send := func(kind prometheus.ValueType, value float64, name, help string, labels ...string) {
		keys, values := split(slices.Concat(common, labels))
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, keys, nil), kind, value, values...)
	}
	summary := func(count uint64, sum float64, quantiles map[float64]float64, name, help string, labels ...string) {
		keys, values := split(slices.Concat(common, labels))
		out <- prometheus.MustNewConstSummary(prometheus.NewDesc(name, help, keys, nil), count, sum, quantiles, values...)
	}
	counter := func(value uint64, name, help string, labels ...string) {
		send(prometheus.CounterValue, float64(value), name, help, labels...)
	}
	gauge := func(value float64, name, help string, labels ...string) {
		send(prometheus.GaugeValue, value, name, help, labels...)
	}
	gauge(1, "worldd_kernels", "Always 1: the vector kernels in use; go means none, and effects are interpreted.", "kernels", cpu.Chosen().String())
	gauge(float64(r.Active-r.Web), "worldd_clients", "Sessions that have joined, by transport.", "transport", "quic")
	if c.config.Quic.ServesWeb() {
		gauge(float64(r.Web), "worldd_clients", "Sessions that have joined, by transport.", "transport", "web")
		collectWeb(r.Traffic, counter)
	}
	collectTraffic(r.Traffic, counter)
	collectPackets(c.config.Quic.Packets(), counter)
	c.collectProcess(gauge)
	gauge(float64(r.Traffic.UnsentBytes), "worldd_send_queue_depth", "Stream bytes queued for senders, of all sessions.")
	if c.config.Kinds == nil {
		collectWorld(r, c.config.Schema, counter, gauge, summary)
		return
	}
	for _, k := range c.config.Kinds() {
		common = []string{KindLabel, k.Kind}
		gauge(float64(k.Rooms), "worldd_rooms", "Rooms, by kind.")
		gauge(float64(k.Reserved), "worldd_room_seats", "Places reserved for users, or held for clients on their way, by kind of room.")
		gauge(float64(k.MaxRooms), "worldd_rooms_limit", "Most rooms of the kind (RoomKind.MaxRooms).")
		counter(k.RoomPanics, "worldd_room_panics_total", "Panics that ended the run of a room, by kind.")
		if images, most := c.config.StoredImages(k.Kind); most > 0 {
			gauge(float64(images), "worldd_stored_images", "Stored images of rooms with an id, by kind.")
			gauge(float64(most), "worldd_stored_images_limit", "Stored images at which clients make no new rooms, by kind.")
		}
		gauge(float64(k.Report.Active), "worldd_room_clients", "Sessions in rooms, by kind of room.")
		if k.Schema != nil {
			collectWorld(k.Report, k.Schema, counter, gauge, summary)
		}
	}
	if c.config.Cluster != nil {
		common = nil
		collectCluster(c.config.Cluster(), counter, gauge, send)
	}
	refused := c.config.Refused()
	common = nil
	for result, n := range refused.Letters {
		counter(n, "worldd_room_messages_total", "Messages between rooms, by result on this node: delivered. Or dropped: no_room, no such room runs; full, too many wait; unread, no function or another type; unsent, the other node has not confirmed; late, a newer one was first; ended, a room ended.", "result", result.String())
	}
	common = []string{KindLabel, ""} // connections that reached no room
	collectEnds(refused.Refused, refused.Closed, counter)
	counter(refused.Panics, "worldd_hook_panics_total", hookPanics, "hook", session.HookAdmit.String())
}

// collectProcess reports what the server is, its limits and the states of its rooms.
func (c collector) collectProcess(gauge gaugeFunc) {
	gauge(1, "worldd_build_info", "Always 1: the versions of the program.", "version", ModuleVersion(), "game", c.config.Game, "game_version", c.config.Version,
		"go_version", runtime.Version(), "protocol", strconv.Itoa(wire.Version))
	gauge(float64(c.config.MaxSessions()), "worldd_sessions_limit", "Most sessions at any one time (--max-sessions).")
	gauge(oneIf(c.config.Cordoned()), "worldd_cordoned", "1 while the server refuses new sessions (POST /cordon, or serve --drain-for).")
	gauge(oneIf(c.config.Draining()), "worldd_draining", "1 while the server refuses new sessions because it drains.")
	const expiry = "Time at which a certificate expires, by the port that uses it."
	for use, at := range c.config.certificateExpiries() {
		gauge(seconds(at), "worldd_certificate_expiry_timestamp_seconds", expiry, "port", use)
	}
	if c.config.Kinds == nil {
		return
	}
	states := map[string]int{"opening": 0, "open": 0, "frozen": 0, "stalled": 0, "draining": 0, "ending": 0, "failed": 0, "closed": 0}
	for _, r := range c.config.Rooms() {
		states[r.State]++
	}
	for state, n := range states {
		gauge(float64(n), "worldd_rooms_by_state", "Rooms, by state as in /rooms.", "state", state)
	}
}

// certificateExpiries returns when the certificates of the ports expire.
func (c Config) certificateExpiries() map[string]time.Time {
	all := map[string]time.Time{}
	for port, certificate := range map[string]func() *tls.Certificate{"game": c.GameCertificate, "admin": c.Certificate} {
		if certificate == nil {
			continue
		}
		if at := quicserve.ExpiryOf(certificate()); !at.IsZero() {
			all[port] = at
		}
	}
	return all
}

// ModuleVersion returns the version of this module in the program, or "source".
func ModuleVersion() string {
	const module = "github.com/worldd/worldd"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "source"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	return "source"
}

func oneIf(set bool) float64 {
	if set {
		return 1
	}
	return 0
}

// seconds returns t as Prometheus has times.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// collectWorld reports the figures of worlds and their sessions.
func collectWorld(r Report, s *schema.Schema, counter countFunc, gauge gaugeFunc, summary summaryFunc) {
	collectTick(r, counter, gauge, summary)
	collectSystems(r.World.Systems, counter, summary)
	gauge(float64(r.World.Awake), "worldd_entities", "Entities, by state of their bodies.", "state", "awake")
	gauge(float64(r.World.Asleep), "worldd_entities", "Entities, by state of their bodies.", "state", "asleep")
	collectEffects(r.World, gauge)
	collectCoded(s, r.Replication, counter)
	collectRows(r.Replication, counter)
	counter(r.Sessions.InputsDropped, "worldd_dropped_total", dropped, "reason", "input_queue")
	counter(r.Sessions.ResyncsDropped, "worldd_dropped_total", dropped, "reason", "resync_rate")
	counter(r.Sessions.HellosHeld, "worldd_dropped_total", dropped, "reason", "join_rate")
	for verdict, n := range r.Sessions.CommandVerdicts {
		counter(n, "worldd_handle_verdicts_total", "Verdicts on handles in commands.", "side", "server", "verdict", wire.Verdict(verdict).String())
	}
	counter(r.Sessions.Executed, "worldd_commands_total", "Commands, by result.", "result", "executed")
	counter(r.Sessions.Rejected, "worldd_commands_total", "Commands, by result.", "result", "rejected")
	counter(r.Sessions.ProvisionalsBound, "worldd_provisional_handles_total", "Provisional handles in commands and inputs, by result.", "result", "bound")
	counter(r.Sessions.ProvisionalsRejected, "worldd_provisional_handles_total", "Provisional handles in commands and inputs, by result.", "result", "rejected")
	counter(r.Sessions.MovesRefused, "worldd_moves_refused_total", "Moves of sessions to other rooms that failed: the sessions stayed.")
	counter(r.Sessions.Calls-r.Sessions.CallsFailed, "worldd_calls_total", calls, "result", "ok")
	counter(r.Sessions.CallsFailed, "worldd_calls_total", calls, "result", "failed")
	collectCodes(r.Sessions.Rejections, true, "worldd_command_rejections_total", "Rejected commands, by code.", counter)
	collectEnds(r.Sessions.Refused, r.Sessions.Closed, counter)
	gauge(float64(r.Away), "worldd_sessions_away", "Sessions whose connection broke and whose clients may reconnect.")
	counter(r.Sessions.Lost, "worldd_connections_lost_total", "Connections that broke and whose sessions waited for a reconnect.")
	counter(r.Sessions.Joined, "worldd_sessions_joined_total", "Sessions that began.")
	counter(r.Sessions.Resumed, "worldd_sessions_resumed_total", "Reconnects of clients to their session.")
	counter(r.Sessions.Restored, "worldd_sessions_restored_total", "Sessions that continue after a crash of the server.")
	counter(r.Sessions.PredictionFaults, "worldd_prediction_faults_total", "Resyncs requested by clients that simulate: an audit of computed bodies failed, or they could not be computed in time.")
	counter(r.Sessions.Resyncs, "worldd_resyncs_total", "Full resyncs that clients requested because their state was wrong.")
	for hook, n := range r.Sessions.Panics {
		counter(n, "worldd_hook_panics_total", hookPanics, "hook", session.Hook(hook).String())
	}
	for hook, n := range r.Sessions.Slow {
		if session.Hook(hook) != session.HookAdmit {
			counter(n, "worldd_slow_hooks_total", "Calls of the game's hooks that took longer than a tick, by hook.", "hook", session.Hook(hook).String())
		}
	}
	collectInputs(r.Sessions, counter)
	counter(r.Sessions.SnapshotsHeld, "worldd_snapshots_held_total", "Snapshots skipped because the connection had not sent the one before.")
	counter(r.Images.Saved, "worldd_images_total", "Saves of the world, by result.", "result", "saved")
	counter(r.Images.Failed, "worldd_images_total", "Saves of the world, by result.", "result", "failed")
	gauge(r.Images.Blocked.Seconds(), "worldd_image_blocked_seconds", "Longest time that a save has blocked a tick.")
	if !r.Images.LastSaved.IsZero() {
		gauge(seconds(r.Images.LastSaved), "worldd_image_last_saved_timestamp_seconds", "Time of the newest save.")
		gauge(r.Images.LastTook.Seconds(), "worldd_image_last_duration_seconds", "Duration of the newest save, copying the world included.")
		gauge(float64(r.Images.LastBytes), "worldd_image_last_bytes", "Size of the newest image.")
	}
	counter(r.Journal.Bytes, "worldd_journal_bytes_total", "Bytes written to journals.")
	counter(r.Journal.Failed, "worldd_journal_failures_total", "Failures of journals, each of which suspends one until the next image is saved.")
	gauge(float64(r.Journal.Suspended), "worldd_journals_suspended", "Worlds whose journal has failed since their newest image: a crash would lose ticks.")
	gauge(r.Journal.Waiting.Seconds(), "worldd_journal_waiting_seconds", "Age of the oldest tick that waits for the disk.")
}

const calls = "Functions and signals from outside that ran between two ticks, by result."

const hookPanics = "Panics of the game that ended a session, by hook."

const dropped = "Client traffic beyond its limits, by limit: datagrams, inputs and resyncs dropped, stream reads and joins delayed."

type (
	countFunc   func(value uint64, name, help string, labels ...string)
	sendFunc    func(kind prometheus.ValueType, value float64, name, help string, labels ...string)
	gaugeFunc   func(value float64, name, help string, labels ...string)
	summaryFunc func(count uint64, sum float64, quantiles map[float64]float64, name, help string, labels ...string)
)

func collectTick(r Report, counter countFunc, gauge gaugeFunc, summary summaryFunc) {
	whole := r.Tick.Receive + r.Tick.Step + r.Tick.Replicate + r.Tick.Between
	summary(r.Tick.Count, whole.Seconds(), map[float64]float64{0.5: r.Tick.P50.Seconds(), 0.99: r.Tick.P99.Seconds(), 1: r.Tick.Max.Seconds()},
		"worldd_tick_quantile_seconds", "Quantiles of the duration of all ticks since the start.")
	counter(r.Tick.Late, "worldd_tick_overruns_total", "Ticks that began more than one interval late.")
	for cause, n := range r.Tick.MissedBy {
		counter(n, "worldd_ticks_missed_total", "Ticks that were skipped, by the longest phase of the tick before, or machine if other programs took the processor: the world has fallen behind the clock by them.", "cause", phaseNames[cause])
	}
	gauge(oneIf(r.Tick.Behind), "worldd_ticks_behind", "1 while ticks are persistently late or missed, and the server is not ready for more clients.")
	gauge(r.Tick.SnapshotHz, "worldd_snapshot_rate_hertz", "Snapshots a second sent to each client now: fewer than configured while the server is short of time.")
	counter(r.Tick.Thinned, "worldd_thinned_ticks_total", "Ticks without time for all snapshots due.")
}

// collectEffects reports live effects, interpreted ones also by name.
func collectEffects(w world.Stats, gauge gaugeFunc) {
	const effects = "Live effects, by what runs their programs. The interpreter takes about 40 times as long as vector kernels."
	interpreted := 0
	for _, e := range w.Interpreted {
		interpreted += e.Live
		gauge(float64(e.Live), "worldd_interpreted_effects", "Live interpreted effects, by name of the program.", "effect", e.Name)
	}
	gauge(float64(interpreted), "worldd_effects", effects, "run", "interpreted")
	gauge(float64(w.Effects-interpreted), "worldd_effects", effects, "run", "vector")
}

// collectSystems reports the cost of each system of the world.
func collectSystems(systems []world.SystemStats, counter countFunc, summary summaryFunc) {
	for _, s := range systems {
		counter(s.Slow, "worldd_slow_systems_total", "Runs of the world's systems that took longer than a tick.", "system", s.Name, "phase", s.Phase.String())
		summary(s.Runs, s.Total.Seconds(), map[float64]float64{1: s.Longest.Seconds()}, "worldd_system_duration_seconds", "Duration of the world's systems: the longest run, and the sum.", "system", s.Name, "phase", s.Phase.String())
	}
}

// collectEnds reports connections and sessions that ended.
func collectEnds(refused uint64, closed map[wire.Code]uint64, counter countFunc) {
	counter(refused, "worldd_connections_refused_total", "Connections refused a session, or without a Hello in time.")
	collectCodes(closed, false, "worldd_sessions_ended_total", "Sessions that ended, and connections that ended without one, by code.", counter)
}

// collectCodes reports counts by code. Codes not yet counted are reported as 0: rates miss the
// first increment of a counter that begins above 0.
func collectCodes(counts map[wire.Code]uint64, ofCommands bool, name, help string, counter countFunc) {
	for _, info := range wire.Codes() {
		if _, counted := counts[info.Code]; !counted && ofCommands == (info.Code >= wire.StaleHandle) {
			counter(0, name, help, "code", info.Name)
		}
	}
	for code, n := range counts {
		counter(n, name, help, "code", code.String())
	}
}

func collectInputs(s session.Stats, counter countFunc) {
	const name, help = "worldd_inputs_total", "Inputs of clients, by result."
	counter(s.Inputs-s.InputsLate, name, help, "result", "on_time")
	counter(s.InputsLate, name, help, "result", "late")
	counter(s.InputsMissed, name, help, "result", "missed")
	counter(s.InputsEarly, name, help, "result", "early")
	const views, helpViews = "worldd_views_total", "View moments that the game used for lag compensation, by whether they were what the client drew."
	counter(s.Views[session.ViewDrawn], views, helpViews, "result", "drawn")
	counter(s.Views[session.ViewUnseen], views, helpViews, "result", "unseen")
	counter(s.Views[session.ViewCapped], views, helpViews, "result", "capped")
	counter(s.InputsDropped, "worldd_input_datagrams_dropped_total", "Input datagrams beyond a session's limit per tick.")
}

func collectPackets(p quicserve.Packets, counter countFunc) {
	const packets = "UDP packets of clients past the handshake, by direction."
	counter(p.Sent, "worldd_packets_total", packets, "dir", "out")
	counter(p.Received, "worldd_packets_total", packets, "dir", "in")
}

func collectTraffic(t quicserve.Traffic, counter countFunc) {
	const (
		handshakes = "Connections, by result."
		datagrams  = "Datagrams, by direction and result."
	)
	counter(t.Handshakes, "worldd_handshakes_total", handshakes, "result", "ok")
	counter(t.HandshakesFailed, "worldd_handshakes_total", handshakes, "result", "no_stream")
	counter(t.HandshakesRefused, "worldd_handshakes_total", handshakes, "result", "refused")
	counter(t.HandshakesCrowded, "worldd_handshakes_total", handshakes, "result", "crowded")
	counter(t.HandshakesFast, "worldd_handshakes_total", handshakes, "result", "too_fast")
	counter(t.HandshakesAddress, "worldd_handshakes_total", handshakes, "result", "address_full")
	counter(t.Retries, "worldd_handshakes_total", handshakes, "result", "retry")
	counter(t.HandshakesPaced, "worldd_handshakes_paced_total", "Handshakes delayed because many arrived at once.")
	counter(t.AddressesForgotten, "worldd_addresses_forgotten_total", "Addresses whose rates were forgotten early because there were too many.")
	counter(t.DatagramsFast, "worldd_dropped_total", dropped, "reason", "datagram_rate")
	counter(t.StreamsHeld, "worldd_dropped_total", dropped, "reason", "stream_rate")
	counter(t.Datagrams, "worldd_datagrams_total", datagrams, "dir", "out", "result", "sent")
	counter(t.DatagramsRefused, "worldd_datagrams_total", datagrams, "dir", "out", "result", "refused")
	counter(t.ReceivedDatagrams, "worldd_datagrams_total", datagrams, "dir", "in", "result", "received")
	counter(t.DatagramBytes, "worldd_bytes_total", bytesHelp, "dir", "out", "component", "state")
	counter(t.StreamBytes, "worldd_bytes_total", bytesHelp, "dir", "out", "component", "stream")
	counter(t.ReceivedBytes, "worldd_bytes_total", bytesHelp, "dir", "in", "component", "all")
}

// collectWeb reports refused HTTP/3 requests.
func collectWeb(t quicserve.Traffic, counter countFunc) {
	const refused = "HTTP/3 requests refused: of pages with an origin that is not allowed, for a second session, and for anything but a session."
	counter(t.WebOrigins, "worldd_web_refused_total", refused, "reason", "origin")
	counter(t.WebSessions, "worldd_web_refused_total", refused, "reason", "session")
	counter(t.WebRequests, "worldd_web_refused_total", refused, "reason", "request")
}

const bytesHelp = "Bytes without packet headers, by direction and kind; coded: encoded for clients, by component."

// collectCoded reports the bytes encoded for clients: the rows of each component, in snapshots
// and enters, then text fields, events and message headers. The names of the last three contain
// a space, which component names cannot.
func collectCoded(s *schema.Schema, r replication.Stats, counter countFunc) {
	coded := func(bits uint64, component string) {
		counter(bits/8, "worldd_bytes_total", bytesHelp, "dir", "coded", "component", component)
	}
	state, structure := 8*r.StateBytes, 8*r.StructureBytes
	for i, c := range s.Components() {
		coded(r.StateRowBits[i]+r.EnterRowBits[i], c.Name)
		state -= r.StateRowBits[i]
		structure -= r.EnterRowBits[i]
	}
	coded(8*r.EventBytes, "unreliable events")
	state -= 8 * r.EventBytes
	// Texts and reliable events of clients that left before a snapshot were never sent.
	texts := min(8*r.TextBytes, structure)
	reliable := min(8*r.ReliableEventBytes, structure-texts)
	coded(texts, "text fields")
	coded(reliable, "reliable events")
	coded(state, "state headers")
	coded(8*r.CopyBytes, "state copies")
	coded(structure-texts-reliable, "structure records")
}

// collectRows reports how rows were encoded, which is most of a snapshot's cost: copying a
// row takes a twentieth of encoding it.
func collectRows(r replication.Stats, counter countFunc) {
	const rows = "Rows in snapshots: coded for the first viewer, or copied for a further one."
	counter(r.Rows-r.RowsCopied, "worldd_rows_total", rows, "bits", "coded")
	counter(r.RowsCopied, "worldd_rows_total", rows, "bits", "copied")
	counter(r.RowsWhole, "worldd_rows_whole_total", "Rows in snapshots coded without a baseline that the client has acknowledged.")
	counter(r.RowsLost, "worldd_rows_lost_total", "Rows of snapshots that were declared lost.")
	counter(r.Omitted, "worldd_snapshots_omitted_total", "Snapshots that were not sent because nothing was new to the client.")
	counter(r.Copies, "worldd_snapshot_copies_total", "State datagrams sent a second time because the client's link loses packets.")
	const records = "Structure records, by operation."
	counter(r.Enters, "worldd_structure_records_total", records, "op", "enter")
	counter(r.Leaves, "worldd_structure_records_total", records, "op", "leave")
	counter(r.Destroys, "worldd_structure_records_total", records, "op", "destroy")
	counter(r.Texts, "worldd_structure_records_total", records, "op", "text")
	const events = "Events, counted for each client, by kind and result. Dropped: unreliable ones that were late or too many, reliable ones beyond a client's backlog or budget."
	counter(r.ReliableEvents, "worldd_events_total", events, "kind", "reliable", "result", "sent")
	counter(r.ReliableEventsDropped, "worldd_events_total", events, "kind", "reliable", "result", "dropped")
	counter(r.UnreliableEvents, "worldd_events_total", events, "kind", "unreliable", "result", "sent")
	counter(r.UnreliableEventsDropped, "worldd_events_total", events, "kind", "unreliable", "result", "dropped")
}
