//go:build linux

package main

import (
	"slices"
	"sync"
	"time"
)

// meter measures one client's updates.
type meter struct {
	clock  *tickClock
	step   uint32 // ticks between two updates
	joined func() // called when the client has joined

	mu        sync.Mutex
	newest    time.Duration // when the newest tick that the client has began
	last      time.Duration // the newest update, or the begin of the measurement
	all       total
	before    total // at the begin of the measurement
	known     int   // sum over updates
	latencies []time.Duration
	ages      []span
}

// total counts since a client joined.
type total struct {
	updates       int
	rows, payload uint64
}

// span is a time in which the age of a client's newest state grew from low to high.
type span struct{ low, high time.Duration }

// update notes that the client has applied the updates up to a tick. There are several if
// earlier ones had to wait for a lost packet.
func (m *meter) update(tick uint32, known int, all total) {
	at, begun := now(), m.clock.begun(tick)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.grow(at)
	applied := all.updates - m.all.updates
	m.newest, m.all = begun, all
	m.known += applied * known
	for i := range applied {
		m.latencies = append(m.latencies, at-m.clock.begun(tick-uint32(i)*m.step))
	}
}

// grow notes that the newest state aged until at.
func (m *meter) grow(at time.Duration) {
	if m.newest != 0 && at > m.last {
		m.ages = append(m.ages, span{m.last - m.newest, at - m.newest})
	}
	m.last = at
}

// begin begins the measurement.
func (m *meter) begin(at time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last, m.before = at, m.all
	m.known, m.latencies, m.ages = 0, m.latencies[:0], m.ages[:0]
}

// clientsResult adds up the measurements of all clients.
type clientsResult struct {
	usage   // of their process
	Seconds float64
	Updates int
	Rows    uint64
	Known   int // sum over updates
	Payload uint64
	Latency [2]time.Duration // p50, p99
	Age     [2]time.Duration // p50, p99 over time
	Slowest float64          // updates a second of the client with the fewest
}

// endAll ends the measurement that began at began.
func endAll(meters []*meter, began time.Duration) (r clientsResult) {
	at := now()
	r.Seconds = (at - began).Seconds()
	var latencies []time.Duration
	var ages []span
	least := 0
	for i, m := range meters {
		m.mu.Lock()
		m.grow(at)
		updates := m.all.updates - m.before.updates
		r.Updates += updates
		r.Rows += m.all.rows - m.before.rows
		r.Payload += m.all.payload - m.before.payload
		r.Known += m.known
		latencies = append(latencies, m.latencies...)
		ages = append(ages, m.ages...)
		if i == 0 || updates < least {
			least = updates
		}
		m.mu.Unlock()
	}
	slices.Sort(latencies)
	for i, share := range []float64{0.5, 0.99} {
		r.Latency[i], r.Age[i] = quantile(latencies, share), quantileOfSpans(ages, share)
	}
	r.Slowest = float64(least) / r.Seconds
	return r
}

// quantile returns the value below which a share of a sorted list lies.
func quantile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// quantileOfSpans returns the age that the newest state did not exceed for a share of the time.
func quantileOfSpans(spans []span, share float64) time.Duration {
	var all, high time.Duration
	for _, s := range spans {
		all += s.high - s.low
		high = max(high, s.high)
	}
	low, want := time.Duration(0), time.Duration(share*float64(all))
	for high-low > time.Microsecond {
		middle := low + (high-low)/2
		below := time.Duration(0)
		for _, s := range spans {
			below += min(max(middle-s.low, 0), s.high-s.low)
		}
		if below < want {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
