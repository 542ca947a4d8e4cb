package cluster

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/racetest"
)

var (
	seedCount = flag.Int("seeds", 500, "number of seeds of the simulation")
	firstSeed = flag.Uint64("first", 1, "first seed to play")
	oneSeed   = flag.Uint64("seed", 0, "run only this seed, and log everything")
)

// simulation plays a cluster in virtual time: three nodes that want four rooms and have six blocks. Nodes pause, crash, drain, and are
// cut off; messages are late or lost; the engine holds elections, and its directory is wiped and adopted.
type simulation struct {
	seed    uint64
	random  *rand.Rand
	lease   time.Duration
	blocks  int
	drift   float64 // of the true clocks
	now     time.Duration
	queue   eventQueue
	events  uint64
	store   *simulatedStore
	nodes   []*simulatedNode
	rooms   []string
	verbose bool
	steady  bool // no rooms end
	lines   []string
	failure string

	steps, takes, lost, frozen, runs int
	oracle                           oracle
}

// plannedEvent happens at a time.
type plannedEvent struct {
	at time.Duration
	n  uint64
	f  func()
}

type eventQueue []plannedEvent

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].n < q[j].n
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(plannedEvent)) }
func (q *eventQueue) Pop() any     { x := (*q)[len(*q)-1]; *q = (*q)[:len(*q)-1]; return x }

func (s *simulation) after(d time.Duration, f func()) {
	s.events++
	heap.Push(&s.queue, plannedEvent{s.now + d, s.events, f})
}

func (s *simulation) upTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Float64() * float64(d))
}

func (s *simulation) latency() time.Duration {
	switch s.random.IntN(40) {
	case 0:
		return 200*time.Millisecond + s.upTo(3*time.Second)
	case 1, 2:
		return 20*time.Millisecond + s.upTo(200*time.Millisecond)
	}
	return 300*time.Microsecond + s.upTo(5*time.Millisecond)
}

func (s *simulation) logf(format string, args ...any) {
	if s.verbose {
		s.lines = append(s.lines, fmt.Sprintf("%9.3f ", s.now.Seconds())+fmt.Sprintf(format, args...))
	}
}

func (s *simulation) fail(format string, args ...any) {
	if s.failure == "" {
		s.failure = fmt.Sprintf("at %v: ", s.now) + fmt.Sprintf(format, args...)
		s.logf("FAILURE %s", s.failure)
	}
}

// serve does a request in the store, and tells the watches.
func (s *simulation) serve(r request) answer {
	before := s.store.revision
	left := s.leftRoom(r)
	a := s.store.serve(r)
	if s.store.revision != before {
		s.checkOffers(r, left)
		s.checkComebacks(r, left)
		for _, w := range r.swaps {
			s.logf("revision %d: %s = %s", s.store.revision, w.Key, w.Value)
		}
		if !strings.HasPrefix(r.swaps[0].Key, nodePrefix) {
			if text := s.store.inconsistency(); text != "" {
				s.fail("%s", text)
			}
		}
		for _, n := range s.nodes {
			n.deliver()
		}
	}
	return a
}

// operation is a fault, or an operator's act.
type operation struct {
	at   time.Duration
	do   string
	node int
	d    time.Duration
}

func (o operation) String() string {
	return fmt.Sprintf("%v %s node=%d for %v", o.at.Round(time.Millisecond), o.do, o.node, o.d.Round(time.Millisecond))
}

const (
	simulated = 200 * time.Second
	calm      = 70 * time.Second // at the end, without faults
)

var faultKinds = []string{"pause", "cut", "crash", "election", "outage", "partition", "drain", "compact", "stick", "break", "blackout", "faint"}

// generate returns the operations of a seed.
func generate(seed uint64, lease time.Duration) (ops []operation) {
	random := rand.New(rand.NewPCG(seed, 1))
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Float64() * float64(d)) }
	if random.IntN(2) == 0 {
		wiped := 2*lease + upTo(simulated-calm-4*lease)
		ops = append(ops, operation{at: wiped, do: "wipe"}, operation{at: wiped + upTo(3*lease), do: "adopt"})
	}
	// A few kinds at a time meet each other more often than all.
	kinds := slices.Clone(faultKinds)
	random.Shuffle(len(kinds), func(i, k int) { kinds[i], kinds[k] = kinds[k], kinds[i] })
	kinds = kinds[:2+random.IntN(4)]
	gap := time.Second + upTo(9*time.Second)
	for at := upTo(3 * time.Second); at < simulated-calm; at += 500*time.Millisecond + upTo(gap) {
		o := operation{at: at, do: kinds[random.IntN(len(kinds))], node: random.IntN(3)}
		switch o.do {
		case "pause", "cut":
			o.d = upTo(lease * 5 / 2)
		case "crash", "partition", "blackout", "faint":
			o.d = upTo(lease * 3 / 2)
		case "election":
			o.d = time.Second + upTo(time.Second)
		case "outage":
			o.d = upTo(lease * 2)
		}
		ops = append(ops, o)
	}
	slices.SortStableFunc(ops, func(a, b operation) int { return int(a.at - b.at) })
	return ops
}

// apply does an operation.
func (s *simulation) apply(o operation) {
	s.logf("OPERATION %v", o)
	n := s.nodes[o.node]
	switch o.do {
	case "pause":
		n.pausedTo = s.now + o.d
	case "cut":
		n.cutTo = s.now + o.d
	case "crash":
		n.crash(o.d)
	case "blackout":
		for _, n := range s.nodes {
			n.crash(s.upTo(o.d))
		}
	case "faint": // a process pauses at its start
		n.crash(o.d / 4)
		s.after(o.d/4+s.upTo(50*time.Millisecond), func() { n.pausedTo = s.now + o.d*5/3 })
	case "election", "outage":
		s.store.awayTo = s.now + o.d
		for _, n := range s.nodes {
			if s.random.IntN(2) == 0 {
				n.breakWatch(false)
			}
		}
	case "partition":
		for _, m := range s.nodes {
			if s.random.IntN(2) == 0 {
				m.cutTo = s.now + o.d
			}
		}
	case "drain":
		n.close()
	case "compact":
		s.store.compact()
		n.breakWatch(false)
	case "stick":
		if n.watch != nil {
			n.watch.stuck = true
		}
	case "break":
		n.breakWatch(false)
	case "wipe":
		s.store.wipe()
		for _, n := range s.nodes {
			n.deliver()
		}
	case "adopt":
		s.adopt()
	}
}

// adopt makes the present directory the one of every node, as an operator does.
func (s *simulation) adopt() {
	r := identityRecord{Version: recordVersion, ID: tokenText(s.random.Uint64())}
	for _, n := range s.nodes {
		if known := n.machine.identity.known; known != "" && !slices.Contains(r.Was, known) {
			r.Was = append(r.Was, known)
		}
		if known := n.kept.Directory; known != "" && !slices.Contains(r.Was, known) {
			r.Was = append(r.Was, known)
		}
	}
	if e, ok := s.store.entries[identityKey]; ok {
		was, err := parseIdentity(e.Value)
		if err != nil {
			s.fail("%v", err)
		}
		if !slices.Contains(r.Was, was.ID) {
			r.Was = append(r.Was, was.ID)
		}
	}
	s.serve(request{swaps: []Swap{{identityKey, encode(r), s.store.entries[identityKey].Revision}}})
}

func newSimulation(seed uint64) *simulation {
	s := &simulation{seed: seed, random: rand.New(rand.NewPCG(seed, 2)), lease: 5 * time.Second, blocks: 6, drift: clockDrift, store: newSimulatedStore()}
	s.store.pageKeys = 5 // so that the directory has several pages
	s.oracle = newOracle()
	for i := range 4 {
		s.rooms = append(s.rooms, fmt.Sprintf("arena/%d", i))
	}
	for i := range 3 {
		s.nodes = append(s.nodes, &simulatedNode{s: s, name: string(rune('a' + i)), stored: map[string]*simulatedRun{}})
	}
	return s
}

// run plays operations, with clients that want rooms.
func (s *simulation) run(ops []operation) {
	for _, n := range s.nodes {
		n.offset, n.rate = s.upTo(time.Hour), 1+(s.random.Float64()*2-1)*s.drift
		n.start()
	}
	for _, o := range ops {
		s.after(o.at, func() { s.apply(o) })
	}
	var demand func()
	demand = func() {
		n, room := s.nodes[s.random.IntN(3)], s.rooms[s.random.IntN(len(s.rooms))]
		n.after(0, func() { n.ask(room) })
		if s.random.IntN(8) == 0 && !s.steady {
			n, room := s.nodes[s.random.IntN(3)], s.rooms[s.random.IntN(len(s.rooms))]
			n.after(0, func() { n.end(room) })
		}
		s.after(100*time.Millisecond+s.upTo(400*time.Millisecond), demand)
	}
	demand()
	for len(s.queue) > 0 && s.now < simulated && s.failure == "" {
		e := heap.Pop(&s.queue).(plannedEvent)
		s.now = e.at
		e.f()
	}
	s.requireAlive()
}

// requireAlive checks that every room has run after the faults had ended.
func (s *simulation) requireAlive() {
	for _, room := range s.rooms {
		if idle := s.now - s.oracle.stepped[room]; idle > 20*time.Second {
			s.fail("L1: %s has not run for %v, since %v: nobody can take it", room, idle, s.oracle.stepped[room])
		}
	}
}

// oracle knows, in true time, all steps of all rooms.
type oracle struct {
	newest      map[string]stepOf // by room
	stepped     map[string]time.Duration
	directories map[string]int // identities, in the order in which rooms ran under them
	blocks      map[string]map[int]*blockUse
	parents     []int               // of images, by number: the one that the run knew before. 0 is none
	newestSaved map[inDirectory]int // number of the newest image that was acknowledged
	steps       map[[2]int]int      // of all processes of a run, by the directory's number and its id
	offers      map[string]offer    // newest release for an heir, by the room's key
	// comebacks are when nodes began again that ran open rooms, by the room's key. Rooms of a node that had a tombstone in between have a nil time.
	comebacks map[string]*time.Duration
}

// offer is the release of a room for an heir.
type offer struct {
	at          time.Duration
	incarnation string // of the source
}

type inDirectory struct{ directory, room string }

type stepOf struct {
	directory int
	epoch     uint64
	by        runner
}

// runner is a run in a process.
type runner struct {
	node      string
	life, run int
}

// blockUse are the runs that used a block.
type blockUse struct {
	last int
	all  map[int]bool
}

func newOracle() oracle {
	return oracle{
		newest: map[string]stepOf{}, stepped: map[string]time.Duration{}, directories: map[string]int{}, blocks: map[string]map[int]*blockUse{}, parents: []int{0}, newestSaved: map[inDirectory]int{},
		steps: map[[2]int]int{}, offers: map[string]offer{}, comebacks: map[string]*time.Duration{},
	}
}

// leftRoom returns the record that a request replaces, if it is a room's.
func (s *simulation) leftRoom(r request) (record roomRecord) {
	if len(r.swaps) > 0 && strings.HasPrefix(r.swaps[0].Key, roomPrefix) {
		record, _ = parseRoom(r.swaps[0].Key, s.store.entries[r.swaps[0].Key].Value) // none is the zero record
	}
	return record
}

// incarnationOf returns the incarnation of a node that the directory has for alive, or "".
func (s *simulation) incarnationOf(node string) string {
	r, err := parseNode(nodeKey(node), s.store.entries[nodeKey(node)].Value)
	if err != nil || r.Dead {
		return ""
	}
	return r.Incarnation
}

// checkOffers checks a request that was served (C11): the heir and the source alone take an offered room, while the source lives.
func (s *simulation) checkOffers(r request, left roomRecord) {
	key := r.swaps[0].Key
	if !strings.HasPrefix(key, roomPrefix) {
		return
	}
	now, err := parseRoom(key, s.store.entries[key].Value)
	was := s.oracle.offers[key]
	switch {
	case err != nil:
	case now.Offered:
		s.oracle.offers[key] = offer{s.now, s.incarnationOf(now.Source)}
	case !left.Offered || now.State != roomOpen || now.Node == left.Source || now.Node == left.Keeper && now.Incarnation == left.Heir:
	case s.incarnationOf(left.Source) == was.incarnation && s.now-was.at < returnTime*9/10:
		s.fail("C11: %s takes %s from its source %s, which lives", now.Node, key, left.Source)
	}
}

// checkComebacks checks a request that was served (C12): an open room whose node has begun again is taken by this node alone, while it lives,
// but for one that takes its room again in an adopted directory.
func (s *simulation) checkComebacks(r request, left roomRecord) {
	key := r.swaps[0].Key
	if strings.HasPrefix(key, nodePrefix) {
		s.noteComeback(strings.TrimPrefix(key, nodePrefix))
	}
	if !strings.HasPrefix(key, roomPrefix) {
		return
	}
	began := s.oracle.comebacks[key]
	delete(s.oracle.comebacks, key)
	now, err := parseRoom(key, s.store.entries[key].Value)
	owner, _ := parseNode(nodeKey(left.Node), s.store.entries[nodeKey(left.Node)].Value) // none is the zero record
	isLeft := began != nil && s.now-*began < comebackTime*9/10 && slices.Contains(owner.Was, left.Incarnation)
	runsOn := slices.ContainsFunc(s.nodes, func(n *simulatedNode) bool {
		return n.name == now.Node && n.runs[strings.TrimPrefix(key, roomPrefix)] != nil
	})
	if err == nil && isLeft && !runsOn && left.State == roomOpen && now.State == roomOpen && now.Node != left.Node {
		s.fail("C12: %s takes %s from %s, which has begun again at %v", now.Node, key, left.Node, *began)
	}
}

// noteComeback notes what the new record of a node means for the rooms that it ran.
func (s *simulation) noteComeback(node string) {
	now, _ := parseNode(nodeKey(node), s.store.entries[nodeKey(node)].Value) // none is the zero record
	at := s.now
	for key, e := range s.store.entries {
		if !strings.HasPrefix(key, roomPrefix) {
			continue
		}
		r, err := parseRoom(key, e.Value)
		_, known := s.oracle.comebacks[key]
		switch {
		case err != nil || r.State != roomOpen || r.Node != node:
		case now.Incarnation == "" || now.Dead:
			s.oracle.comebacks[key] = nil
		case slices.Contains(now.Was, r.Incarnation) && !known:
			s.oracle.comebacks[key] = &at
		}
	}
}

// step checks a step of a room.
func (s *simulation) step(n *simulatedNode, room string, r *simulatedRun) {
	o := &s.oracle
	s.steps++
	directory := n.machine.identity.known
	if _, ok := o.directories[directory]; !ok {
		o.directories[directory] = len(o.directories)
		o.blocks[directory] = map[int]*blockUse{}
	}
	now := stepOf{o.directories[directory], r.epoch, runner{n.name, n.life, r.id}}
	last, ok := o.newest[room]
	switch {
	case !ok || now == last:
	case now.directory < last.directory || now.directory == last.directory && now.epoch < last.epoch:
		s.fail("C1: %s steps in epoch %d of directory %d by %v, after epoch %d of directory %d by %v", room, now.epoch, now.directory, now.by, last.epoch, last.directory, last.by)
	case now.directory == last.directory && now.epoch == last.epoch:
		s.fail("C2: %s steps in epoch %d by %v and by %v", room, now.epoch, now.by, last.by)
	}
	if now != last {
		s.logf("STEP %s in epoch %d, block %d, by %v", room, r.epoch, r.block, now.by)
	}
	o.newest[room], o.stepped[room] = now, s.now
	in := [2]int{now.directory, r.id}
	if r.steps < o.steps[in] {
		s.fail("C11: run %d of %s continues after %d steps, and had %d", r.id, room, r.steps, o.steps[in])
	}
	r.steps++
	o.steps[in] = r.steps
	s.useBlock(directory, room, r)
}

// useBlock checks that a run does not step in a block after another run did.
func (s *simulation) useBlock(directory, room string, r *simulatedRun) {
	uses := s.oracle.blocks[directory]
	use := uses[r.block]
	if use == nil {
		use = &blockUse{all: map[int]bool{}}
		uses[r.block] = use
	}
	if use.last != r.id && use.all[r.id] {
		s.fail("C6: run %d of %s steps in block %d, after run %d did", r.id, room, r.block, use.last)
	}
	use.last, use.all[r.id] = r.id, true
}

// saveImage returns the pointer to a new image of a run, whose number is its tick.
func (s *simulation) saveImage(node string, r *simulatedRun) *Image {
	s.oracle.parents = append(s.oracle.parents, r.image)
	return &Image{Epoch: r.epoch, Tick: uint64(len(s.oracle.parents) - 1), Sum: strings.Repeat("5", 64), Nodes: []string{node}}
}

func imageNumber(i *Image) int {
	if i == nil {
		return 0
	}
	return int(i.Tick)
}

// acknowledge notes that a node knows an image to be the room's newest. It may learn so after another node has saved a newer one.
func (o *oracle) acknowledge(directory, room string, image int) {
	in := inDirectory{directory, room}
	if !o.descends(o.newestSaved[in], image) {
		o.newestSaved[in] = image
	}
}

// descends reports whether an image is of a run that began with the other one, or is the same.
func (o *oracle) descends(image, from int) bool {
	for image > from {
		image = o.parents[image]
	}
	return image == from
}

// beginFrom checks that a run begins with the newest image that was acknowledged, or one of the same run after it (C5).
func (s *simulation) beginFrom(n *simulatedNode, room string, image *Image) {
	newest := s.oracle.newestSaved[inDirectory{n.machine.identity.known, room}]
	if !s.oracle.descends(imageNumber(image), newest) {
		s.fail("C5: %s begins %s with image %d, after image %d was acknowledged", n.name, room, imageNumber(image), newest)
	}
}

// play runs one seed.
func play(seed uint64, verbose bool) *simulation {
	s := newSimulation(seed)
	s.verbose = verbose
	s.run(generate(seed, s.lease))
	return s
}

// report says all about a failure.
func (s *simulation) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s\nrepeat it with -seed %d -v\n", s.seed, s.failure, s.seed)
	for _, o := range generate(s.seed, s.lease) {
		fmt.Fprintf(&b, "  %v\n", o)
	}
	for _, n := range s.nodes {
		fmt.Fprintf(&b, "  %v\n", n)
	}
	return b.String()
}

// TestRoomsRunOnce checks C1 to C9 against all steps and images of all rooms in true time, and that every room runs after the faults.
func TestRoomsRunOnce(t *testing.T) {
	racetest.SkipUnchecked(t)
	first, n := *firstSeed, *seedCount
	if testing.Short() {
		n = min(n, 40)
	}
	if *oneSeed != 0 {
		s := play(*oneSeed, true)
		t.Log("\n" + strings.Join(s.lines, "\n"))
		require.Empty(t, s.failure, s.report())
		return
	}
	var steps, takes, lost, fences, fenced, frozen, late int
	for seed := first; seed < first+uint64(n); seed++ {
		s := play(seed, false)
		require.Empty(t, s.failure, s.report())
		steps, takes, lost, frozen = steps+s.steps, takes+s.takes, lost+s.lost, frozen+s.frozen
		for _, node := range s.nodes {
			fences += int(node.machine.counters.Fences)
			fenced += int(node.machine.counters.Fenced)
			late += int(node.machine.counters.LateAnswers)
		}
	}
	t.Logf("%d seeds of %v: %d steps, %d takes, %d rooms lost, %d tombstones and %d nodes fenced (in last processes), %d late answers, %d ticks stood still",
		n, simulated, steps, takes, lost, fences, fenced, late, frozen)
}

// playOutages plays outages of the engine alone, most of them longer than a lease.
func playOutages() *simulation {
	s := newSimulation(1)
	s.steady = true
	var ops []operation
	for at := 15 * time.Second; at < simulated-calm; at += 25 * time.Second {
		ops = append(ops, operation{at: at, do: "outage", d: time.Duration(len(ops)) * 3 * time.Second})
	}
	s.run(ops)
	if s.lost > 0 {
		s.fail("%d rooms were lost, although every node was alive", s.lost)
	}
	return s
}

// While the engine is away for longer than a lease, the rooms stand still. No node declares another one dead afterwards.
func TestOutageLosesNoRoom(t *testing.T) {
	s := playOutages()
	require.Empty(t, s.failure)
	require.NotZero(t, s.frozen)
}
