//go:build linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// measurement is one run of a peer.
type measurement struct {
	clients int
	server  serverResult
	client  clientsResult
	traffic traffic
}

// row is a line of the table: what one run measured, or the medians of several.
type row struct {
	serverMicros, clientMicros float64 // for each update
	payload, wire              float64 // kB/s a client
	packets                    float64 // a second and client
	latency50, latency99       float64 // ms
	age50, age99               float64 // ms
	megabytes                  float64
	updates, slowest           float64 // a second and client; of the client with the fewest
	rows, known                float64 // for each update
}

// row returns what m says for each client and update.
func (m measurement) row() row {
	updates, clientSeconds := float64(max(m.client.Updates, 1)), m.client.Seconds*float64(m.clients)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return row{
		serverMicros: float64(m.server.CPU.Microseconds()) / updates,
		clientMicros: float64(m.client.CPU.Microseconds()) / updates,
		payload:      float64(m.client.Payload) / 1000 / clientSeconds,
		wire:         float64(m.traffic.bytes) / 1000 / clientSeconds,
		packets:      float64(m.traffic.packets) / clientSeconds,
		latency50:    ms(m.client.Latency[0]), latency99: ms(m.client.Latency[1]),
		age50: ms(m.client.Age[0]), age99: ms(m.client.Age[1]),
		megabytes: float64(m.server.Resident) / 1e6,
		updates:   float64(m.client.Updates) / clientSeconds, slowest: m.client.Slowest,
		rows: float64(m.client.Rows) / updates, known: float64(m.client.Known) / updates,
	}
}

// columns of the table.
var columns = []struct {
	name   string
	format string
	value  func(*row) *float64
}{
	{"server us", "%.1f", func(r *row) *float64 { return &r.serverMicros }},
	{"client us", "%.1f", func(r *row) *float64 { return &r.clientMicros }},
	{"payload kB/s", "%.2f", func(r *row) *float64 { return &r.payload }},
	{"wire kB/s", "%.2f", func(r *row) *float64 { return &r.wire }},
	{"packets/s", "%.1f", func(r *row) *float64 { return &r.packets }},
	{"p50 ms", "%.1f", func(r *row) *float64 { return &r.latency50 }},
	{"p99 ms", "%.1f", func(r *row) *float64 { return &r.latency99 }},
	{"age p50 ms", "%.0f", func(r *row) *float64 { return &r.age50 }},
	{"age p99 ms", "%.0f", func(r *row) *float64 { return &r.age99 }},
	{"server MB", "%.0f", func(r *row) *float64 { return &r.megabytes }},
	{"updates/s", "%.2f", func(r *row) *float64 { return &r.updates }},
	{"slowest/s", "%.2f", func(r *row) *float64 { return &r.slowest }},
	{"rows", "%.1f", func(r *row) *float64 { return &r.rows }},
	{"known", "%.0f", func(r *row) *float64 { return &r.known }},
}

// medians returns the median of each column; with an even number the mean of the two.
func medians(rows []row) (m row) {
	for _, c := range columns {
		var values []float64
		for i := range rows {
			values = append(values, *c.value(&rows[i]))
		}
		slices.SortFunc(values, cmp.Compare[float64])
		n := len(values)
		*c.value(&m) = (values[(n-1)/2] + values[n/2]) / 2
	}
	return m
}

// writeTable writes the medians of each peer's runs.
func writeTable(w io.Writer, l load, chosen []peer, rows map[string][]row) error {
	if l.impaired() {
		fmt.Fprintf(w, "%v %% of packets lost each way, round trip %v\n", l.loss, l.rtt)
	}
	fmt.Fprintf(w, "%d clients, medians of %d runs of %d s; us are of CPU for each update, kB/s and packets/s of each client, both ways but for payload\n\n", l.clients, l.rounds, l.seconds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "peer\t")
	for _, c := range columns {
		fmt.Fprint(t, c.name, "\t")
	}
	fmt.Fprintln(t)
	for _, p := range chosen {
		if len(rows[p.name]) == 0 {
			continue
		}
		m := medians(rows[p.name])
		fmt.Fprint(t, p.name, "\t")
		for _, c := range columns {
			fmt.Fprintf(t, c.format+"\t", *c.value(&m))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
