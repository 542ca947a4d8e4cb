package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	goflag "flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"golang.org/x/sys/unix"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
)

var chaosMinutes = goflag.Int("chaos", 0, "minutes of TestRoomsHaveOneOwner; 0: one fault of each kind")

// ownersFile is the variable of a file to which every process of the inn appends its steps: ROOM RUN TICK NANOSECONDS, on the one
// monotonic clock of the machine.
const ownersFile = "INN_TEST_OWNERS"

func monotonic() time.Duration {
	var now unix.Timespec
	must.Do(unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return time.Duration(now.Nano())
}

func noteOwner(room, run string, tick uint64) {
	path := os.Getenv(ownersFile)
	if path == "" || room == "" {
		return
	}
	f := must.Get(os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600))
	defer f.Close()
	must.Get(fmt.Fprintln(f, room, run, tick, int64(monotonic()))) // in one write
}

// ownership holds the steps of one run of a room.
type ownership struct {
	room, run           string
	first, before, last time.Duration // before: the step before the last
}

// readOwners returns the runs of all rooms, in the order of their first steps.
func readOwners(t *testing.T, lines string) (all []*ownership) {
	of := map[string]*ownership{}
	for line := range strings.Lines(lines) {
		var room, run string
		var tick, at int64
		must.Get(fmt.Sscan(line, &room, &run, &tick, &at))
		o := of[room+" "+run]
		if o == nil {
			o = &ownership{room: room, run: run, first: time.Duration(at), last: time.Duration(at)}
			of[room+" "+run] = o
			all = append(all, o)
		}
		o.before, o.last = o.last, time.Duration(at)
	}
	slices.SortFunc(all, func(a, b *ownership) int { return cmp.Compare(a.first, b.first) })
	require.NotEmpty(t, all)
	return all
}

// checkOwners checks that the runs of a room never overlap, and returns the times between two of them. A process that is stopped between asking
// whether it may step and the step does this one step later, as package cluster says: late is how many did.
func checkOwners(all []*ownership, lease time.Duration) (gaps []time.Duration, late int, err error) {
	newest := map[string]*ownership{}
	for _, o := range all {
		if last := newest[o.room]; last != nil {
			end := last.last
			if o.first < end && end-last.before > lease {
				late, end = late+1, last.before
			}
			if o.first < end {
				return nil, 0, fmt.Errorf("room %s: run %s begins at %v, and run %s steps until %v", o.room, o.run, o.first, last.run, end)
			}
			gaps = append(gaps, o.first-end)
		}
		newest[o.room] = o
	}
	return gaps, late, nil
}

// Overlapping runs are found, however short, and one late step of a process that stood still is allowed.
func TestOverlappingOwnersAreFound(t *testing.T) {
	for lines, want := range map[string]string{
		"r a 1 100\nr a 2 200\nr b 1 201\ns b 1 150\n":  "",
		"r a 1 100\nr b 1 150\nr a 2 200\n":             "run b begins at 150ns, and run a steps until 200ns",
		"r a 1 100\nr b 1 5000\nr a 2 6000\n":           "",
		"r a 1 100\nr b 1 5000\nr a 2 6000\nr a 3 6001": "run b begins",
	} {
		_, _, err := checkOwners(readOwners(t, lines), 1000)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// engineMembers are the processes of an etcd of three members.
type engineMembers struct {
	*testing.T
	urls []string
	args [][]string
	runs []*exec.Cmd
}

func startMembers(c *processes) *engineMembers {
	m := &engineMembers{T: c.T, runs: make([]*exec.Cmd, 3)}
	var names, peers []string
	for i := range m.runs {
		names, peers, m.urls = append(names, fmt.Sprint("m", i)), append(peers, "http://"+loopback.Reserve(c, 1)[0]), append(m.urls, "http://"+loopback.Reserve(c, 1)[0])
	}
	initial := fmt.Sprintf("m0=%s,m1=%s,m2=%s", peers[0], peers[1], peers[2])
	for i := range m.runs {
		m.args = append(m.args, []string{
			"--name", names[i], "--data-dir", filepath.Join(c.dir, names[i]), "--listen-client-urls", m.urls[i], "--advertise-client-urls", m.urls[i],
			"--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i], "--initial-cluster", initial,
		})
		m.start(i)
	}
	c.Cleanup(func() {
		for i := range m.runs {
			m.kill(i)
		}
	})
	c.until("the members have a leader", func() bool { return m.leader() >= 0 })
	c.engine = strings.Join(m.urls, ",")
	return m
}

func (m *engineMembers) start(i int) {
	m.runs[i] = exec.CommandContext(context.WithoutCancel(m.Context()), must.Get(exec.LookPath("etcd")), m.args[i]...)
	require.NoError(m, m.runs[i].Start())
}

func (m *engineMembers) kill(i int) {
	_ = m.runs[i].Process.Kill()
	_ = m.runs[i].Wait()
}

// leader returns the member that leads, or -1.
func (m *engineMembers) leader() int {
	for i, url := range m.urls {
		answer, err := http.Post(url+"/v3/maintenance/status", "application/json", bytes.NewReader([]byte("{}")))
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		var status struct {
			Header struct {
				ID string `json:"member_id"`
			} `json:"header"`
			Leader string `json:"leader"`
		}
		if json.Unmarshal(body, &status) == nil && status.Leader != "" && status.Leader == status.Header.ID {
			return i
		}
	}
	return -1
}

// line is how a node reaches the engine's members.
type line struct {
	relays []*loopback.Relay
	engine string // for --cluster
}

func (c *processes) newLine() *line {
	l := &line{}
	var urls []string
	for url := range strings.SplitSeq(c.engine, ",") {
		r := loopback.NewRelay(c, strings.TrimPrefix(url, "http://"))
		l.relays, urls = append(l.relays, r), append(urls, "http://"+r.Addr)
	}
	l.engine = strings.Join(urls, ",")
	return l
}

// startBare starts a node that saves nothing.
func (c *processes) startBare(node string, l *line, lease time.Duration) {
	if c.addrs[node] == "" {
		c.addrs[node] = loopback.Reserve(c, 1)[0]
	}
	c.startInstalled(&installation{t: c.T, program: "inn"}, node, lease, "--cluster="+l.engine)
}

// keepVisiting keeps a client in a room, through whichever node answers. A patient one reconnects by itself; any other is closed after a second
// without a snapshot, and another is dialled.
func (c *processes) keepVisiting(ctx context.Context, room string, addrs []string, patient bool) {
	for ctx.Err() == nil {
		first := rand.IntN(len(addrs))
		own, err := client.Dial(ctx, client.Config{Addr: addrs[first], Addrs: slices.Concat(addrs[:first], addrs[first+1:]), InsecureDev: true, Room: room, Schema: bells(), Token: []byte("kept")})
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		heard, snapshots := time.Now(), uint64(0)
		for ctx.Err() == nil && own.Update() == nil && (patient || time.Since(heard) < time.Second) {
			if n := own.Stats().Replica.Snapshots; uint64(n) != snapshots {
				heard, snapshots = time.Now(), uint64(n)
			}
			time.Sleep(10 * time.Millisecond)
		}
		_ = own.Close()
	}
}

// awaitSteps waits until each room has stepped after a moment, and returns how long that took.
func (c *processes) awaitSteps(rooms []string, after time.Duration) (took time.Duration) {
	c.until("all rooms step", func() bool {
		newest := map[string]time.Duration{}
		for _, o := range readOwners(c.T, wholeLines(os.Getenv(ownersFile))) {
			if o.first > after || o.last > after {
				newest[o.room] = max(newest[o.room], o.last)
			}
		}
		took = monotonic() - after
		return len(newest) == len(rooms)
	})
	return took
}

// TestRoomsHaveOneOwner: while nodes are killed, stand still for longer than their lease, are cut off from the engine and are deployed, the times in which the runs of
// a room step never overlap. With -chaos the engine has three members, and its leader is killed each minute as well.
func TestRoomsHaveOneOwner(t *testing.T) {
	shorttest.Skip(t, "kills servers")
	c := startEngine(t)
	lease := 2 * time.Second
	var members *engineMembers
	if *chaosMinutes > 0 {
		lease, members = 5*time.Second, startMembers(c)
	}
	t.Setenv(ownersFile, filepath.Join(c.dir, "owners"))
	t.Setenv(stepsFile, "")
	names := []string{"a", "b", "c"}
	lines := map[string]*line{}
	for _, node := range names {
		lines[node] = c.newLine()
		c.startBare(node, lines[node], lease)
	}
	rooms, addrs := []string{"lobby"}, []string{c.addrs["a"], c.addrs["b"], c.addrs["c"]}
	ctx, cancel := context.WithCancel(t.Context())
	var visits sync.WaitGroup
	defer visits.Wait()
	defer cancel()
	for i := range 4 {
		room := fmt.Sprint("room/", i)
		rooms = append(rooms, room)
		visits.Go(func() { c.keepVisiting(ctx, room, addrs, i%2 == 0) })
	}
	c.until("all rooms step", func() bool {
		text, err := os.ReadFile(os.Getenv(ownersFile))
		return err == nil && !slices.ContainsFunc(rooms, func(room string) bool { return !bytes.Contains(text, []byte(room+" ")) })
	})
	if members != nil {
		c.killLeaders(members, time.Duration(*chaosMinutes)*time.Minute/2)
	}
	began := monotonic()
	for n := 0; n < 4 || monotonic()-began < time.Duration(*chaosMinutes)*time.Minute/2; n++ {
		node := names[n%3]
		stands := 3*time.Second + time.Duration(rand.Int64N(int64(9*time.Second)))
		if members == nil {
			stands = 2 * lease
		}
		switch n % 4 {
		case 0:
			require.NoError(t, c.nodes[node].process.Process.Kill())
			t.Logf("node %s killed: all rooms step after %v", node, c.awaitSteps(rooms, monotonic()+200*time.Millisecond))
			c.startBare(node, lines[node], lease)
		case 1:
			stopped := c.nodes[node].process.Process
			require.NoError(t, stopped.Signal(syscall.SIGSTOP))
			time.Sleep(stands)
			require.NoError(t, stopped.Signal(syscall.SIGCONT))
			t.Logf("node %s stood still for %v: all rooms step after %v", node, stands, c.awaitSteps(rooms, monotonic()))
		case 2:
			for _, r := range lines[node].relays {
				r.Hold()
			}
			cut := monotonic()
			if stands > lease {
				t.Logf("node %s does not reach the engine: all rooms step elsewhere %v after its lease", node, c.awaitSteps(rooms, cut+lease))
			}
			time.Sleep(cut + stands - monotonic())
			for _, r := range lines[node].relays {
				r.Release()
			}
			t.Logf("node %s did not reach the engine for %v: all rooms step after %v", node, stands, c.awaitSteps(rooms, monotonic()))
		default:
			require.Equal(t, exitOK, c.nodes[node].end(syscall.SIGTERM))
			t.Logf("node %s ended: all rooms step after %v", node, c.awaitSteps(rooms, monotonic()))
			c.startBare(node, lines[node], lease)
		}
	}
	cancel()
	visits.Wait()
	gaps, late, err := checkOwners(readOwners(t, wholeLines(os.Getenv(ownersFile))), lease)
	require.NoError(t, err)
	slices.Sort(gaps)
	require.NotEmpty(t, gaps)
	t.Logf("%d runs began after others, after %v to %v (median %v); %d late steps", len(gaps), gaps[0], gaps[len(gaps)-1], gaps[len(gaps)/2], late)
}

// killLeaders kills the engine's leader each minute, and reports how often rooms stood still.
func (c *processes) killLeaders(m *engineMembers, d time.Duration) {
	frozen := func() (n int) {
		for _, node := range c.nodes {
			n += strings.Count(node.output(), "the room is frozen")
		}
		return n
	}
	before := frozen()
	kills := 0
	for began := monotonic(); monotonic()-began < d; kills++ {
		leader := m.leader()
		if leader < 0 {
			time.Sleep(time.Second)
			kills--
			continue
		}
		m.kill(leader)
		time.Sleep(20 * time.Second)
		m.start(leader)
		time.Sleep(40 * time.Second)
	}
	c.Logf("the engine's leader was killed %d times: rooms froze %d times", kills, frozen()-before)
}
