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

// perUpdate returns x for each update that a client applied.
func (m *measurement) perUpdate(x float64) float64 { return x / float64(max(m.client.Updates, 1)) }

// perClient returns x for each second and client.
func (m *measurement) perClient(x float64) float64 {
	return x / m.client.Seconds / float64(m.clients)
}

func (m *measurement) serverMicros() float64 { return m.perUpdate(micros(m.server.CPU)) }
func (m *measurement) clientMicros() float64 { return m.perUpdate(micros(m.client.CPU)) }
func (m *measurement) updates() float64      { return m.perClient(float64(m.client.Updates)) }

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
func millis(d time.Duration) float64 { return micros(d) / 1000 }

// column is a number of a measurement.
type column struct {
	name   string
	format string
	value  func(m *measurement) float64
}

// costs and causes are the columns of the two tables.
var (
	costs = []column{
		{"server us", "%.1f", (*measurement).serverMicros},
		{"client us", "%.1f", (*measurement).clientMicros},
		{"payload kB/s", "%.2f", func(m *measurement) float64 { return m.perClient(float64(m.client.Payload)) / 1000 }},
		{"wire kB/s", "%.2f", func(m *measurement) float64 { return m.perClient(float64(m.traffic.bytes)) / 1000 }},
		{"packets/s", "%.1f", func(m *measurement) float64 { return m.perClient(float64(m.traffic.packets)) }},
		{"p50 ms", "%.1f", func(m *measurement) float64 { return millis(m.client.Latency[0]) }},
		{"p99 ms", "%.1f", func(m *measurement) float64 { return millis(m.client.Latency[1]) }},
		{"age p50 ms", "%.0f", func(m *measurement) float64 { return millis(m.client.Age[0]) }},
		{"age p99 ms", "%.0f", func(m *measurement) float64 { return millis(m.client.Age[1]) }},
		{"server MB", "%.0f", func(m *measurement) float64 { return float64(m.server.Resident) / 1e6 }},
		{"updates/s", "%.2f", (*measurement).updates},
	}
	causes = []column{
		{"server allocs", "%.1f", func(m *measurement) float64 { return m.perUpdate(float64(m.server.Allocs)) }},
		{"client allocs", "%.1f", func(m *measurement) float64 { return m.perUpdate(float64(m.client.Allocs)) }},
		{"server switches", "%.2f", func(m *measurement) float64 { return m.perUpdate(float64(m.server.Switches)) }},
		{"client switches", "%.2f", func(m *measurement) float64 { return m.perUpdate(float64(m.client.Switches)) }},
		{"rows", "%.1f", func(m *measurement) float64 { return m.perUpdate(float64(m.client.Rows)) }},
		{"known", "%.1f", func(m *measurement) float64 { return m.perUpdate(float64(m.client.Known)) }},
		{"slowest updates/s", "%.2f", func(m *measurement) float64 { return m.client.Slowest }},
	}
)

// median returns the median of a column; with an even number of runs the mean of two.
func (c column) median(runs []measurement) float64 {
	var values []float64
	for i := range runs {
		values = append(values, c.value(&runs[i]))
	}
	slices.SortFunc(values, cmp.Compare[float64])
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// writeTables writes the medians of each peer's runs.
func writeTables(w io.Writer, l load, chosen []peer, runs map[string][]measurement) error {
	if l.impaired() {
		fmt.Fprintf(w, "%v %% of packets lost each way, round trip %v\n", l.loss, l.rtt)
	}
	fmt.Fprintf(w, "%d clients, medians of %d runs of %d s. CPU (us), allocations and switches of threads are of a process for each update,\nbytes and packets of each client.\n\n", l.clients, l.rounds, l.seconds)
	if err := writeTable(w, costs, chosen, runs); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeTable(w, causes, chosen, runs)
}

func writeTable(w io.Writer, columns []column, chosen []peer, runs map[string][]measurement) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "peer\t")
	for _, c := range columns {
		fmt.Fprint(t, c.name, "\t")
	}
	fmt.Fprintln(t)
	for _, p := range chosen {
		if len(runs[p.name]) == 0 {
			continue
		}
		fmt.Fprint(t, p.name, "\t")
		for _, c := range columns {
			fmt.Fprintf(t, c.format+"\t", c.median(runs[p.name]))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
