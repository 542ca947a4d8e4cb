// Package storetest checks that a cluster.Store does what cluster.Store says.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/worldd/worldd/server/cluster"
)

// A Subject is an empty directory as two clients of it see it.
type Subject struct {
	Store, Other cluster.Store
	// Compact makes the directory forget the changes up to a revision.
	Compact func(ctx context.Context, revision uint64) error
}

// Run runs all checks, each on a directory of its own.
func Run(t *testing.T, open func(*testing.T) Subject) {
	for _, c := range []struct {
		name  string
		check func(*directory)
	}{
		{"create, replace, delete", createReplaceDelete},
		{"all keys or none", allOrNone},
		{"one of many creates a key", oneCreates},
		{"concurrent counters", concurrentCounters},
		{"swaps of several keys exclude each other", concurrentTransfers},
		{"reads see other clients' writes", readsSeeWrites},
		{"reads of many keys", readMany},
		{"reads of many keys beside swaps", readManyBesideSwaps},
		{"any bytes in keys and values", anyBytes},
		{"limits", limits},
		{"watch order", watchOrder},
		{"watch resumed at each revision", watchResumed},
		{"watches beside each other", watchesBesideEachOther},
		{"compacted", compacted},
		{"revisions to come", revisionsToCome},
		{"cancelled", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c.check(&directory{T: t, ctx: ctx, Subject: open(t)})
		})
	}
}

// directory is the subject of one check.
type directory struct {
	*testing.T
	Subject
	ctx context.Context
}

// swap swaps until the result is known, for checks of one writer.
func (d *directory) swap(swaps ...cluster.Swap) uint64 {
	d.Helper()
	revision, err := d.Store.Swap(d.ctx, swaps...)
	if err != nil {
		d.Fatalf("swap of %d keys from %q: %v", len(swaps), swaps[0].Key, err)
	}
	return revision
}

// refuse wants an error, and the directory unchanged.
func (d *directory) refuse(want error, swaps ...cluster.Swap) {
	d.Helper()
	before, at := d.read("")
	if _, err := d.Store.Swap(d.ctx, swaps...); err == nil || want != nil && !errors.Is(err, want) || want == nil && errors.Is(err, cluster.ErrUnknown) {
		d.Fatalf("swap: have error %v, want %v", err, want)
	}
	d.wantEntries("", before, at)
}

func (d *directory) read(prefix string) ([]cluster.Entry, uint64) {
	d.Helper()
	entries, revision, err := cluster.ReadAll(d.ctx, d.Store, prefix)
	if err != nil {
		d.Fatalf("read %q: %v", prefix, err)
	}
	return entries, revision
}

func (d *directory) wantEntries(prefix string, want []cluster.Entry, at uint64) {
	d.Helper()
	have, revision := d.read(prefix)
	if revision != at {
		d.Fatalf("read %q: have revision %d, want %d", prefix, revision, at)
	}
	d.equal(have, want)
}

func (d *directory) equal(have, want []cluster.Entry) {
	d.Helper()
	same := func(a, b cluster.Entry) bool {
		return a.Key == b.Key && a.Revision == b.Revision && bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil)
	}
	if !slices.EqualFunc(have, want, same) {
		d.Fatalf("entries:\nhave %.2000s\nwant %.2000s", fmt.Sprintf("%+v", have), fmt.Sprintf("%+v", want))
	}
}

// watch returns the first n changes after a revision.
func (d *directory) watch(prefix string, from uint64, n int) []cluster.Entry {
	d.Helper()
	seen, err := watch(d.ctx, d.Store, prefix, from, n)
	if err != nil {
		d.Fatalf("watch %q from %d: after %d of %d changes: %v", prefix, from, len(seen), n, err)
	}
	return seen
}

// watch repeats a watch that breaks, as Node does.
func watch(ctx context.Context, s cluster.Store, prefix string, from uint64, n int) ([]cluster.Entry, error) {
	var seen []cluster.Entry
	for len(seen) < n {
		watching, stop := context.WithCancel(ctx)
		err := s.Watch(watching, prefix, from, func(e cluster.Entry) {
			from = e.Revision
			seen = append(seen, e)
			if len(seen) == n {
				stop()
			}
		})
		stop()
		switch {
		case err == nil:
			return seen, errors.New("ended without an error")
		case len(seen) < n && (errors.Is(err, cluster.ErrCompacted) || ctx.Err() != nil):
			return seen, err
		}
	}
	return seen, nil
}

func entry(key, value string, revision uint64) cluster.Entry {
	return cluster.Entry{Key: key, Value: []byte(value), Revision: revision}
}

func put(key, value string, revision uint64) cluster.Swap {
	return cluster.Swap{Key: key, Value: []byte(value), Revision: revision}
}

func remove(key string, revision uint64) cluster.Swap {
	return cluster.Swap{Key: key, Revision: revision}
}

func createReplaceDelete(d *directory) {
	_, before := d.read("")
	r1 := d.swap(put("k", "one", 0))
	if r1 <= before {
		d.Fatalf("revision %d after %d", r1, before)
	}
	d.wantEntries("k", []cluster.Entry{entry("k", "one", r1)}, r1)
	d.refuse(cluster.ErrConflict, put("k", "two", 0))
	d.refuse(cluster.ErrConflict, put("k", "two", r1+1))
	r2 := d.swap(put("k", "", r1))
	d.wantEntries("k", []cluster.Entry{entry("k", "", r2)}, r2)
	d.refuse(cluster.ErrConflict, remove("k", r1))
	d.refuse(cluster.ErrConflict, remove("k", 0))
	r3 := d.swap(remove("k", r2))
	d.wantEntries("", nil, r3)
	d.refuse(cluster.ErrConflict, put("k", "two", r2))
	d.refuse(cluster.ErrConflict, put("k", "two", r3))
	d.refuse(cluster.ErrConflict, remove("k", r2))
	if r := d.swap(remove("k", 0)); r != r3 {
		d.Fatalf("deleting no key made revision %d from %d", r, r3)
	}
	r4 := d.swap(put("k", "three", 0))
	d.equal(d.watch("", before, 4), []cluster.Entry{entry("k", "one", r1), entry("k", "", r2), {Key: "k", Revision: r3}, entry("k", "three", r4)})
}

func allOrNone(d *directory) {
	r1 := d.swap(put("a", "1", 0), put("b", "1", 0))
	d.wantEntries("", []cluster.Entry{entry("a", "1", r1), entry("b", "1", r1)}, r1)
	d.refuse(cluster.ErrConflict, put("a", "2", r1), put("b", "2", r1), put("c", "2", r1))
	d.refuse(cluster.ErrConflict, remove("a", r1), put("b", "2", 0))
	d.refuse(cluster.ErrConflict, put("d", "2", 0), remove("c", r1))
	r2 := d.swap(put("c", "2", 0), remove("b", r1), put("a", "2", r1), remove("d", 0))
	d.wantEntries("", []cluster.Entry{entry("a", "2", r2), entry("c", "2", r2)}, r2)
}

func oneCreates(d *directory) {
	const keys, contenders = 10, 6
	stores := []cluster.Store{d.Store, d.Other}
	for k := range keys {
		key := fmt.Sprint("room/", k)
		won := make([]uint64, contenders)
		var all sync.WaitGroup
		for i := range contenders {
			all.Go(func() {
				revision, err := stores[i%2].Swap(d.ctx, put(key, fmt.Sprint(i), 0))
				if err != nil && !errors.Is(err, cluster.ErrConflict) {
					d.Errorf("contender %d: %v", i, err)
				}
				won[i] = revision
			})
		}
		all.Wait()
		entries, _ := d.read(key)
		var want []cluster.Entry
		for i, revision := range won {
			if revision != 0 {
				want = append(want, entry(key, fmt.Sprint(i), revision))
			}
		}
		if len(want) != 1 {
			d.Fatalf("%d of %d contenders created %s", len(want), contenders, key)
		}
		d.equal(entries, want)
	}
}

func concurrentCounters(d *directory) {
	const writers, each = 4, 20
	stores := []cluster.Store{d.Store, d.Other}
	_, from := d.read("")
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for done := 0; done < each; {
				entries, _, err := cluster.ReadAll(d.ctx, stores[w%2], "count")
				if err != nil {
					d.Errorf("read: %v", err)
					return
				}
				var have, at uint64
				if len(entries) == 1 {
					have, at = uint64(len(entries[0].Value)), entries[0].Revision
				}
				_, err = stores[w%2].Swap(d.ctx, put("count", strings.Repeat("i", int(have)+1), at))
				switch {
				case err == nil:
					done++
				case !errors.Is(err, cluster.ErrConflict):
					d.Errorf("swap: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	for i, e := range d.watch("count", from, writers*each) {
		if len(e.Value) != i+1 {
			d.Fatalf("change %d made the counter %d", i, len(e.Value))
		}
	}
}

// concurrentTransfers moves units between two keys: their sum stays, at every revision.
func concurrentTransfers(d *directory) {
	const writers, each, units = 4, 15, 100
	from := d.swap(put("sum/a", strings.Repeat("i", units), 0), put("sum/b", "", 0))
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for done := 0; done < each; {
				entries, _, err := cluster.ReadAll(d.ctx, d.Store, "sum/")
				if err != nil || len(entries) != 2 {
					d.Errorf("read: %d keys, %v", len(entries), err)
					return
				}
				a, b := len(entries[0].Value), len(entries[1].Value)
				if a+b != units {
					d.Errorf("read %d and %d at once", a, b)
				}
				moved := w + 1
				_, err = d.Store.Swap(d.ctx, put("sum/a", strings.Repeat("i", a-moved%a), entries[0].Revision),
					put("sum/b", strings.Repeat("i", b+moved%a), entries[1].Revision))
				if err == nil || errors.Is(err, cluster.ErrConflict) {
					done++
				} else {
					d.Errorf("swap: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	entries, _ := d.read("sum/")
	changes := d.watch("sum/", from, 2)
	for last := changes[0].Revision; last < entries[0].Revision; last = changes[0].Revision {
		if a, b := changes[0], changes[1]; a.Revision != b.Revision || len(a.Value)+len(b.Value) != units {
			d.Fatalf("a swap arrived in parts: %s at %d, %s at %d", a.Key, a.Revision, b.Key, b.Revision)
		}
		changes = d.watch("sum/", last, 2)
	}
}

func readsSeeWrites(d *directory) {
	var revision uint64
	for i := range 30 {
		value := fmt.Sprint(i)
		revision = d.swap(put("k", value, revision))
		entries, at, err := cluster.ReadAll(d.ctx, d.Other, "k")
		if err != nil || at < revision || len(entries) != 1 || string(entries[0].Value) != value {
			d.Fatalf("write %d at %d is not read: %v at %d, %v", i, revision, entries, at, err)
		}
	}
}

// createMany creates so many full swaps of keys, and returns them as entries.
func (d *directory) createMany(swaps int) (all []cluster.Entry) {
	for range swaps {
		var one []cluster.Swap
		for i := range cluster.MaxSwaps {
			one = append(one, put(fmt.Sprintf("many/%05d", len(all)+i), "v", 0))
		}
		revision := d.swap(one...)
		for _, s := range one {
			all = append(all, entry(s.Key, "v", revision))
		}
	}
	return all
}

func readMany(d *directory) {
	want := d.createMany(20)
	d.swap(put("many", "before", 0), put("many.", "before", 0), put("many0", "after", 0))
	have, _ := d.read("many/")
	d.equal(have, want)
	have, _ = d.read("many/0123")
	d.equal(have, want[1230:1240])
	have, _ = d.read("none")
	d.equal(have, nil)
}

// readManyBesideSwaps swaps the first and the last of many keys together: each read sees both changes or none.
func readManyBesideSwaps(d *directory) {
	all := d.createMany(10)
	first, last := all[0], all[len(all)-1]
	done := make(chan error, 1)
	go func() {
		r1, r2 := first.Revision, last.Revision
		for i := range 60 {
			revision, err := d.Other.Swap(d.ctx, put(first.Key, fmt.Sprint(i), r1), put(last.Key, fmt.Sprint(i), r2))
			if err != nil {
				done <- err
				return
			}
			r1, r2 = revision, revision
		}
		done <- nil
	}()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				d.Fatal(err)
			}
			running = false
		default:
		}
		have, at := d.read("many/")
		if len(have) != len(all) {
			d.Fatalf("read %d of %d keys", len(have), len(all))
		}
		a, b := have[0], have[len(have)-1]
		if string(a.Value) != string(b.Value) || a.Revision > at || b.Revision > at {
			d.Fatalf("a read at revision %d saw %q of %d and %q of %d", at, a.Value, a.Revision, b.Value, b.Revision)
		}
	}
}

func anyBytes(d *directory) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	keys := []string{"\x00", "\x00\xff", string(all), "ä\n\"\\", "\xff", "\xff\x00", "\xff\xff"}
	var swaps []cluster.Swap
	for i, k := range keys {
		swaps = append(swaps, cluster.Swap{Key: k, Value: bytes.Repeat(all, i)})
	}
	_, from := d.read("")
	revision := d.swap(swaps...)
	var want []cluster.Entry
	for _, s := range swaps {
		want = append(want, cluster.Entry{Key: s.Key, Value: append([]byte{}, s.Value...), Revision: revision})
	}
	byKey := func(a, b cluster.Entry) int { return strings.Compare(a.Key, b.Key) }
	seen := d.watch("", from, len(want))
	slices.SortFunc(want, byKey)
	slices.SortFunc(seen, byKey)
	d.equal(seen, want)
	d.wantEntries("", want, revision)
	d.wantEntries("\xff", want[len(want)-3:], revision)
	d.wantEntries("\xff\xff", want[len(want)-1:], revision)
	d.equal(d.watch("\xff\xff", from, 1), want[len(want)-1:])
}

func limits(d *directory) {
	full := strings.Repeat("v", cluster.MaxValue)
	var largest []cluster.Swap
	for left := cluster.MaxSwapBytes; left > 2; {
		key := string(rune('a' + len(largest)))
		s := put(key, full[:min(len(full), left-1)], 0)
		largest, left = append(largest, s), left-1-len(s.Value)
	}
	_, from := d.read("")
	revision := d.swap(largest...)
	have, at := d.read("")
	if len(have) != len(largest) || at != revision {
		d.Fatalf("the largest swap: have %d of %d keys", len(have), len(largest))
	}
	seen := d.watch("", from, len(largest))
	d.equal(seen, have)

	many := make([]cluster.Swap, cluster.MaxSwaps+1)
	for i := range many {
		many[i] = put(strings.Repeat("k", cluster.MaxKey-2)+fmt.Sprintf("%02d", i), "", 0)
	}
	d.swap(many[:cluster.MaxSwaps]...)
	for i := range many {
		many[i].Key = "n" + many[i].Key[1:]
	}
	d.refuse(nil, many...)
	d.refuse(nil)
	d.refuse(nil, put("", "v", 0))
	d.refuse(nil, put(strings.Repeat("k", cluster.MaxKey+1), "", 0))
	d.refuse(nil, put("n", full+"v", 0))
	d.refuse(nil, put("n", "v", 0), put("n", "w", 0))
	d.refuse(nil, put("n", full, 0), put("m", full, 0), put("l", full[:1], 0), put("l", full, 0))
}

func watchOrder(d *directory) {
	_, from := d.read("")
	var want []cluster.Entry
	revisions := map[string]uint64{}
	for i := range 60 {
		key := fmt.Sprint("w/", i%7)
		s := put(key, fmt.Sprint(i), revisions[key])
		if i%5 == 4 && s.Revision != 0 {
			s.Value = nil
		}
		revision := d.swap(s, put(fmt.Sprint("x/", i), "", 0))
		want = append(want, cluster.Entry{Key: key, Value: s.Value, Revision: revision})
		revisions[key] = revision
		if s.Value == nil {
			revisions[key] = 0
		}
	}
	d.equal(d.watch("w/", from, len(want)), want)
	d.equal(d.watch("w/", want[20].Revision, len(want)-21), want[21:])
}

func watchResumed(d *directory) {
	_, from := d.read("")
	const n = 20
	done := make(chan error, 1)
	go func() { // beside the watch
		for i := range n {
			if _, err := d.Other.Swap(d.ctx, put(fmt.Sprint("w/", i), "", 0)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for i := range n {
		e := d.watch("w/", from, 1)[0]
		if want := fmt.Sprint("w/", i); e.Key != want || e.Revision <= from {
			d.Fatalf("after revision %d: %s at %d, want %s", from, e.Key, e.Revision, want)
		}
		from = e.Revision
	}
	if err := <-done; err != nil {
		d.Fatal(err)
	}
}

func watchesBesideEachOther(d *directory) {
	const watches, n = 12, 40
	_, from := d.read("")
	seen := make([][]cluster.Entry, watches)
	stores := []cluster.Store{d.Store, d.Other}
	var all sync.WaitGroup
	for w := range watches {
		all.Go(func() {
			var err error
			if seen[w], err = watch(d.ctx, stores[w%2], fmt.Sprint("w/", w%2), from, n); err != nil {
				d.Errorf("watch %d: %v", w, err)
			}
		})
	}
	for i := range n {
		d.swap(put(fmt.Sprint("w/0/", i), "", 0), put(fmt.Sprint("w/1/", i), "", 0))
	}
	all.Wait()
	for w := range watches {
		for i, e := range seen[w] {
			if want := fmt.Sprint("w/", w%2, "/", i); e.Key != want {
				d.Fatalf("watch %d: change %d is of %s, want %s", w, i, e.Key, want)
			}
		}
	}
}

func compacted(d *directory) {
	_, from := d.read("")
	r1 := d.swap(put("k", "1", 0))
	r2 := d.swap(put("k", "2", r1))
	if err := d.Compact(d.ctx, r2); err != nil {
		d.Fatal(err)
	}
	err := d.Store.Watch(d.ctx, "", from, func(e cluster.Entry) { d.Errorf("saw a change of %q", e.Key) })
	if !errors.Is(err, cluster.ErrCompacted) {
		d.Fatalf("watch from %d: have error %v, want %v", from, err, cluster.ErrCompacted)
	}
	entries, at := d.read("k")
	d.equal(entries, []cluster.Entry{entry("k", "2", r2)})
	r3 := d.swap(put("k", "3", r2))
	d.equal(d.watch("k", at, 1), []cluster.Entry{entry("k", "3", r3)})
}

// revisionsToCome: a directory that is younger than the watch has been replaced.
func revisionsToCome(d *directory) {
	r := d.swap(put("k", "", 0))
	err := d.Store.Watch(d.ctx, "", r+1000, func(e cluster.Entry) { d.Errorf("saw %q", e.Key) })
	if !errors.Is(err, cluster.ErrCompacted) {
		d.Fatalf("watch after revision %d of %d: have error %v, want %v", r+1000, r, err, cluster.ErrCompacted)
	}
}

func cancelled(d *directory) {
	_, at := d.read("")
	ended, cancel := context.WithCancel(d.ctx)
	cancel()
	if _, err := d.Store.Swap(ended, put("k", "", 0)); !errors.Is(err, context.Canceled) || errors.Is(err, cluster.ErrUnknown) {
		d.Fatalf("swap: %v", err)
	}
	if _, _, err := cluster.ReadAll(ended, d.Store, ""); !errors.Is(err, context.Canceled) {
		d.Fatalf("read: %v", err)
	}
	if err := d.Store.Watch(ended, "", at, func(cluster.Entry) {}); !errors.Is(err, context.Canceled) {
		d.Fatalf("watch: %v", err)
	}
	d.wantEntries("", nil, at)

	watching, stop := context.WithCancel(d.ctx)
	defer stop()
	result := make(chan error, 1)
	first := make(chan struct{}, 1)
	go func() { result <- d.Store.Watch(watching, "", at, func(cluster.Entry) { first <- struct{}{} }) }()
	d.swap(put("k", "", 0))
	<-first
	stop()
	if err := <-result; !errors.Is(err, context.Canceled) {
		d.Fatalf("watch: %v", err)
	}
}
