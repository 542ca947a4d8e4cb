package server

import (
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/server/session"
)

// addPast adds the totals of an ended run. Callers hold rooms.mu.
func (k *kind) addPast(r admin.Report, ticks *hdrhistogram.Histogram) {
	r.World.Entities, r.World.Awake, r.World.Asleep, r.World.Effects, r.World.Retired = 0, 0, 0, 0, 0
	r.World.Interpreted, r.Active, r.Away, r.StateHash, r.Tick.Behind = nil, 0, 0, 0, false
	k.past.Add(r)
	k.pastMs.Merge(ticks)
}

// kindReports returns the figures of each kind, by name.
func (m *rooms) kindReports() []admin.KindReport {
	live := map[string][]*run{}
	for _, r := range m.sortedRooms() {
		if now := r.run.Load(); now != nil {
			live[r.kind] = append(live[r.kind], now)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	reports := make([]admin.KindReport, 0, len(m.kinds))
	for _, name := range slices.Sorted(maps.Keys(m.kinds)) {
		k := m.kinds[name]
		of := admin.KindReport{Kind: name, Schema: k.schema, Rooms: k.rooms, RoomPanics: k.panics, MaxRooms: k.MaxRooms}
		ticks := newTickHistogram(tickDigits)
		ticks.Merge(k.pastMs)
		of.Report.Add(k.past)
		behind := 0
		for _, r := range live[name] {
			report := r.loop.report()
			_, kept, _ := r.core.Places()
			of.Reserved += kept
			if report.Tick.Behind {
				behind++
			}
			of.Report.Add(report)
			ticks.Merge(r.loop.tickDurations())
		}
		of.Report.Tick.Behind = behind > 0 && behind == len(live[name])
		of.Report.Tick.SetQuantiles(ticks)
		of.Ticks = ticks
		reports = append(reports, of)
	}
	return reports
}

// report returns the sum over all rooms, and over connections that reached no room. Behind is
// set only if every room is behind. A server without rooms counts as ticking, and so does a node of a cluster whose pinned rooms
// are all on other nodes.
func (m *rooms) report() (sum admin.Report) {
	rooms, behind := 0, true
	ticks := newTickHistogram(tickDigits)
	for _, k := range m.kindReports() {
		sum.Add(k.Report)
		ticks.Merge(k.Ticks)
		rooms += k.Rooms
		if k.Rooms > 0 && !k.Report.Tick.Behind {
			behind = false
		}
	}
	refused := m.router.Stats()
	outside := admin.Report{Sessions: session.Stats{Refused: refused.Refused, Closed: refused.Closed}}
	outside.Sessions.Panics[session.HookAdmit] = refused.Panics
	sum.Add(outside)
	sum.Tick.Behind = behind && rooms > 0
	sum.Tick.SetQuantiles(ticks)
	if rooms == 0 || m.process.Cluster != nil && !m.hasRun() {
		sum.LastTick = time.Now()
	}
	return sum
}

// hasRun reports whether any room ticks.
func (m *rooms) hasRun() bool {
	return slices.ContainsFunc(m.sortedRooms(), func(r *Room) bool { return r.run.Load() != nil })
}

// tickDurations returns the histogram of tick durations in all rooms, including ended ones.
func (m *rooms) tickDurations() *hdrhistogram.Histogram {
	all := newTickHistogram(tickDigits)
	for _, k := range m.kindReports() {
		all.Merge(k.Ticks)
	}
	return all
}
