package admin

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// KindReport describes all rooms of a kind, with the totals of ended ones.
type KindReport struct {
	Kind       string
	Rooms      int            // now
	RoomPanics uint64         // panics that ended the run of a room
	Schema     *schema.Schema // nil before the first room
	Report     Report
	Ticks      *hdrhistogram.Histogram // durations in µs
	Reserved   int                     // seats, and places held for clients on their way
	MaxRooms   int                     // bound of Rooms
}

// Add adds the figures of another room. Rates and maxima become the larger of the two,
// SnapshotHz the smaller. Behind stays set only if both set it. Quantiles of ticks cannot be
// added: see TickReport.SetQuantiles.
func (r *Report) Add(o Report) {
	tick, images, journal := r.Tick, r.Images, r.Journal
	last, systems, interpreted := r.LastTick, r.World.Systems, r.World.Interpreted
	addNumbers(reflect.ValueOf(r).Elem(), reflect.ValueOf(o))
	r.StateHash = 0
	r.Tick.RateHz = max(tick.RateHz, o.Tick.RateHz)
	r.Tick.SnapshotHz = min(tick.SnapshotHz, o.Tick.SnapshotHz)
	if r.Tick.SnapshotHz == 0 {
		r.Tick.SnapshotHz = max(tick.SnapshotHz, o.Tick.SnapshotHz)
	}
	r.Tick.P50, r.Tick.P99, r.Tick.Max = max(tick.P50, o.Tick.P50), max(tick.P99, o.Tick.P99), max(tick.Max, o.Tick.Max)
	r.Tick.Behind = tick.Behind && o.Tick.Behind
	r.Images.Blocked, r.Images.Took = max(images.Blocked, o.Images.Blocked), max(images.Took, o.Images.Took)
	newest := images
	if o.Images.LastSaved.After(images.LastSaved) {
		newest = o.Images
	}
	r.Images.LastSaved, r.Images.LastTook, r.Images.LastBytes = newest.LastSaved, newest.LastTook, newest.LastBytes
	r.Journal.SlowestSync, r.Journal.Waiting = max(journal.SlowestSync, o.Journal.SlowestSync), max(journal.Waiting, o.Journal.Waiting)
	r.LastTick = laterTime(last, o.LastTick)
	r.World.Systems = addSystems(systems, o.World.Systems)
	r.World.Interpreted = addInterpreted(interpreted, o.World.Interpreted)
}

// SetQuantiles sets P50, P99 and Max.
func (t *TickReport) SetQuantiles(us *hdrhistogram.Histogram) {
	of := func(v int64) time.Duration { return time.Duration(v) * time.Microsecond }
	t.P50, t.P99, t.Max = of(us.ValueAtQuantile(50)), of(us.ValueAtQuantile(99)), of(us.Max())
}

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// addNumbers adds all numbers in from to the numbers in to, a value of the same type.
func addNumbers(to, from reflect.Value) {
	switch to.Kind() {
	case reflect.Struct:
		for i := range to.NumField() {
			if to.Type().Field(i).IsExported() {
				addNumbers(to.Field(i), from.Field(i))
			}
		}
	case reflect.Array:
		for i := range to.Len() {
			addNumbers(to.Index(i), from.Index(i))
		}
	case reflect.Map:
		sum := reflect.MakeMap(to.Type()) // the old map may be shared
		for _, m := range []reflect.Value{to, from} {
			for each := m.MapRange(); each.Next(); {
				n := reflect.New(to.Type().Elem()).Elem()
				if old := sum.MapIndex(each.Key()); old.IsValid() {
					n.Set(old)
				}
				addNumbers(n, each.Value())
				sum.SetMapIndex(each.Key(), n)
			}
		}
		to.Set(sum)
	case reflect.Int, reflect.Int64:
		to.SetInt(to.Int() + from.Int())
	case reflect.Uint64:
		to.SetUint(to.Uint() + from.Uint())
	case reflect.Float64:
		to.SetFloat(to.Float() + from.Float())
	case reflect.Bool, reflect.Slice: // left to Add
	default:
		panic(fmt.Sprintf("admin: a %v in a report", to.Type()))
	}
}

// addSystems returns the systems of a and b, with the figures of equal names and phases added.
func addSystems(a, b []world.SystemStats) []world.SystemStats {
	all := slices.Clone(a)
	for _, s := range b {
		i := slices.IndexFunc(all, func(o world.SystemStats) bool { return o.Name == s.Name && o.Phase == s.Phase })
		if i < 0 {
			all = append(all, s)
			continue
		}
		all[i].Runs += s.Runs
		all[i].Total += s.Total
		all[i].Slow += s.Slow
		all[i].Last, all[i].Longest = max(all[i].Last, s.Last), max(all[i].Longest, s.Longest)
	}
	return all
}

// maxInterpreted bounds the names of effects in a sum: games choose them.
const maxInterpreted = 64

func addInterpreted(a, b []world.InterpretedEffect) []world.InterpretedEffect {
	all := slices.Clone(a)
	for _, e := range b {
		i := slices.IndexFunc(all, func(o world.InterpretedEffect) bool { return o.Name == e.Name })
		switch {
		case i >= 0:
			all[i].Live += e.Live
		case len(all) < maxInterpreted:
			all = append(all, e)
		}
	}
	return all
}
