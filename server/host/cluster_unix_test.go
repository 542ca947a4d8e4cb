//go:build unix

package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	goflag "flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// engineVariable makes tests fail without an etcd. CI sets it.
const engineVariable = "CLUSTER_TEST_ETCD"

var (
	clusterVisits   = goflag.Int("visits", 2, "clients of TestClusterOfProcesses that nodes send to a room of another node, which logs how long that takes")
	clusterRestarts = goflag.Int("restarts", 3, "kills of the node of TestKilledNode, which logs how long its room stands still")
)

// testLease is the lease of the nodes: short, and long enough for nodes on a loaded machine to renew it in time.
const testLease = 4 * time.Second

// processes are the nodes of a cluster, and its engine.
type processes struct {
	*testing.T
	dir, engine string
	nodes       map[string]*serverProcess
	addrs       map[string]string
	ways        map[string]*directoryWay // of nodes that have one of their own
	token       string                   // of the admin ports; empty: none
}

// directoryWay forwards the connections of a node to the engine. While it is held, nothing that the engine says arrives.
type directoryWay struct {
	address string
	held    sync.RWMutex
}

// leadThrough gives a node a way of its own to the engine.
func (c *processes) leadThrough(node string) *directoryWay {
	in := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	way := &directoryWay{address: "http://" + in.Addr().String()}
	c.ways[node] = way
	c.Cleanup(func() { _ = in.Close() })
	go func() {
		for {
			asked, err := in.Accept()
			if err != nil {
				return
			}
			go way.forward(asked, strings.TrimPrefix(c.engine, "http://"))
		}
	}()
	return way
}

func (w *directoryWay) forward(asked net.Conn, engine string) {
	defer func() { _ = asked.Close() }()
	answers, err := net.Dial("tcp", engine)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(answers, asked)
		_ = answers.Close()
	}()
	_, _ = io.Copy(heldWriter{asked, &w.held}, answers)
}

// heldWriter writes while nobody holds the lock.
type heldWriter struct {
	io.Writer
	held *sync.RWMutex
}

func (w heldWriter) Write(p []byte) (int, error) {
	w.held.RLock()
	defer w.held.RUnlock()
	return w.Writer.Write(p)
}

// findProgram skips the test without a program, which CI must have.
func findProgram(t *testing.T, name, debian string) {
	if _, err := exec.LookPath(name); err != nil {
		require.Empty(t, os.Getenv(engineVariable), "want %s in PATH (Debian package %s)", name, debian)
		t.Skipf("SKIPPED: NO PROCESSES FORMED A CLUSTER: %s is missing (Debian package %s)", name, debian)
	}
}

// startEngine starts an etcd of one member, or skips the test.
func startEngine(t *testing.T) *processes {
	c := startEngineAt(t, "http://"+loopback.Reserve(t, 1)[0], "etcd")
	c.until("the engine answers", func() bool {
		answer, err := http.Get(c.engine + "/health")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	return c
}

// startEngineAt starts an etcd of one member by a command, and does not wait for it.
func startEngineAt(t *testing.T, engine string, command ...string) *processes {
	findProgram(t, "etcd", "etcd-server")
	c := &processes{T: t, dir: t.TempDir(), engine: engine, nodes: map[string]*serverProcess{}, addrs: map[string]string{}, ways: map[string]*directoryWay{}}
	peer := "http://" + loopback.Reserve(t, 1)[0]
	log := must.Get(os.Create(filepath.Join(c.dir, "etcd.log")))
	t.Cleanup(func() { _ = log.Close() })
	run := exec.CommandContext(t.Context(), command[0], append(command[1:], "--data-dir", filepath.Join(c.dir, "etcd"), "--listen-client-urls", c.engine, "--advertise-client-urls", c.engine,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)...)
	run.Stdout, run.Stderr = log, log
	require.NoError(t, run.Start())
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	t.Setenv(stepsFile, filepath.Join(c.dir, "steps"))
	return c
}

func (c *processes) until(what string, done func() bool) {
	c.Helper()
	for began := time.Now(); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > soon {
			for name, n := range c.nodes {
				c.Logf("node %s:\n%s", name, n.output())
			}
			require.FailNow(c, "never: "+what)
		}
	}
}

// start starts a node, which saves its rooms in a folder.
func (c *processes) start(node, images string, more ...string) {
	c.startLeased(node, images, testLease, more...)
}

func (c *processes) startLeased(node, images string, lease time.Duration, more ...string) {
	c.startProgram("inn", node, images, lease, more...)
}

func (c *processes) startProgram(program, node, images string, lease time.Duration, more ...string) {
	if c.addrs[node] == "" {
		c.addrs[node] = loopback.Reserve(c, 1)[0]
	}
	i, engine := &installation{t: c.T, program: program, image: filepath.Join(c.dir, images)}, c.engine
	if way := c.ways[node]; way != nil {
		engine = way.address
	}
	c.startInstalled(i, node, lease, append([]string{"--admin=127.0.0.1:0", "--journal=always", "--cluster=" + engine}, more...)...)
}

// startInstalled starts a node, and again if it ends because the engine is too busy to answer.
func (c *processes) startInstalled(i *installation, node string, lease time.Duration, more ...string) {
	args := slices.Concat(more, []string{"--listen=" + c.addrs[node], "--node=" + node, "--lease=" + lease.String()})
	c.nodes[node] = i.start(args...)
	c.until("node "+node+" serves", func() bool {
		select {
		case <-c.nodes[node].ended:
			require.Contains(c, c.nodes[node].output(), "no endpoint answers")
			c.nodes[node] = i.start(args...)
		default:
		}
		return strings.Contains(c.nodes[node].output(), `"serving"`)
	})
}

// run runs a command line of the inn, and again if the engine is too busy to answer.
func (c *processes) run(args ...string) (status int, out string) {
	c.until("the engine answers", func() bool {
		status, out = runInn(c.Context(), inn(), args...)
		return !strings.Contains(out, "no endpoint answers: etcd "+c.engine)
	})
	return status, out
}

// directory returns the directory by the command cluster status.
func (c *processes) directory() (d directoryInfo) {
	status, out := c.run("cluster", "status", "--json", "--cluster="+c.engine)
	require.Equal(c, exitOK, status, out)
	require.NoError(c, json.Unmarshal([]byte(out), &d))
	return d
}

// ask returns what an admin port says.
func (c *processes) ask(admin, path string) string {
	request := must.Get(http.NewRequestWithContext(c.Context(), http.MethodGet, "http://"+admin+path, nil))
	request.Header.Set("Authorization", "Bearer "+c.token)
	answer := must.Get(http.DefaultClient.Do(request))
	defer answer.Body.Close()
	return string(must.Get(io.ReadAll(answer.Body)))
}

var adminAddress = regexp.MustCompile(`admin on http://(\S+)`)

// known returns the directory as a node knows it, which may be later than the directory.
func (c *processes) known(node string) (d directoryInfo) {
	var found []string
	c.until("node "+node+" has an admin port", func() bool {
		found = adminAddress.FindStringSubmatch(c.nodes[node].output())
		return found != nil
	})
	require.NoError(c, json.Unmarshal([]byte(c.ask(found[1], "/cluster")), &d))
	return d
}

// introduce waits until these nodes know each other.
func (c *processes) introduce(nodes ...string) {
	for _, node := range nodes {
		c.until("node "+node+" knows the others", func() bool {
			living := 0
			for _, n := range c.known(node).Nodes {
				if slices.Contains(nodes, n.Name) && !n.Dead {
					living++
				}
			}
			return living == len(nodes)
		})
	}
}

// home returns the node of a room; empty: none that lives.
func (c *processes) home(room string) string { return c.directory().home(room) }

func (d directoryInfo) home(room string) string {
	for _, n := range d.Nodes {
		for _, r := range n.Rooms {
			if r == room && !n.Dead {
				return n.Name
			}
		}
	}
	return ""
}

// bells returns the schema of the inn's clients.
func bells() *schema.Schema {
	s := schema.NewWithBody()
	schema.DefineEvent[bell](s, "bell")
	return s
}

// visit joins a room through a node. A client that is refused because a node has failed asks again.
func (c *processes) visit(node, room string) *client.Client {
	ctx, stop := context.WithTimeout(c.Context(), soon)
	defer stop()
	for {
		own, err := client.Dial(ctx, client.Config{Addr: c.addrs[node], InsecureDev: true, Room: room, Schema: bells(), Token: []byte("kept")})
		if err == nil {
			return own
		}
		e := (*wire.Error)(nil)
		require.True(c, errors.As(err, &e) && e.Code.Info().Retry || !errors.As(err, &e), "%v", err)
		if ctx.Err() != nil {
			for name, n := range c.nodes {
				c.Logf("node %s:\n%s", name, n.output())
			}
		}
		require.NoError(c, ctx.Err(), "%v", err)
	}
}

// joined reports whether a client is in a room and receives ticks, and leaves.
func (c *processes) play(own *client.Client, room string) wire.Welcome {
	var w wire.Welcome
	c.until("a client plays in "+room, func() bool {
		require.NoError(c, own.Update())
		w = own.Welcome()
		return own.State() == client.Joined && own.Stats().Replica.Snapshots > 3
	})
	require.Equal(c, room, w.Room)
	return w
}

// checkSteps checks that no two processes have stepped a room by turns: each had it once, and after the one before. A process that was stopped
// between MayRun and the step takes this step late: a limit that package cluster states.
func (c *processes) checkSteps(stopped ...int) {
	runs, late := map[string][]string{}, map[string]bool{}
	for line := range strings.Lines(wholeLines(os.Getenv(stepsFile))) {
		var room, process string
		var tick uint64
		must.Get(fmt.Sscan(line, &room, &tick, &process))
		switch all := runs[room]; {
		case len(all) > 0 && all[len(all)-1] == process:
		case slices.Contains(all, process) && !late[process] && slices.ContainsFunc(stopped, func(pid int) bool { return strconv.Itoa(pid) == process }):
			late[process] = true
		default:
			runs[room] = append(all, process)
		}
	}
	for room, all := range runs {
		seen := map[string]bool{}
		for _, process := range all {
			require.False(c, seen[process], "room %s: processes %v", room, all)
			seen[process] = true
		}
	}
}

// TestClusterOfProcesses: clients reach a room through every node. A killed node's rooms continue on another from the shared
// folder, and a node that stood still beyond its lease never steps a room that another node has.
func TestClusterOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("kills servers")
	}
	c := startEngine(t)
	for _, node := range []string{"a", "b", "c"} {
		c.start(node, "shared")
	}
	require.Equal(t, "a", c.home("lobby"), "the pinned room is the first node's")
	first := c.visit("b", "room/1")
	c.play(first, "room/1")
	require.Equal(t, "b", c.home("room/1"))
	var took []time.Duration
	for i := range *clusterVisits {
		began := time.Now()
		own := c.visit([]string{"a", "c"}[i%2], "room/1")
		took = append(took, time.Since(began))
		c.play(own, "room/1")
		require.NoError(t, own.Close())
	}
	slices.Sort(took)
	t.Logf("%d clients were sent to the room of another node, from dialling to Welcome: median %v, 99%% %v", len(took), took[len(took)/2], took[len(took)*99/100])
	own := c.visit("c", "") // the default room
	c.play(own, "lobby")
	require.NoError(t, own.Close())
	require.Equal(t, "b", c.home("room/1"))

	before := tickOfLastStep(t, "room/1")
	require.NoError(t, c.nodes["b"].process.Process.Kill())
	_ = first.Close()
	own = c.visit("c", "room/1")
	c.play(own, "room/1")
	require.NoError(t, own.Close())
	require.Equal(t, "c", c.home("room/1"))
	require.GreaterOrEqual(t, tickOfLastStep(t, "room/1"), before, "it continues from the folder")

	newest := "--image-shared=" + filepath.Join(c.dir, "newest")
	c.start("d", "own-d", newest) // nodes with folders of their own: no lock of an image keeps others from its rooms
	c.start("e", "own-e", newest)
	own = c.visit("d", "room/2")
	c.play(own, "room/2")
	require.Equal(t, "d", c.home("room/2"))
	stopped := c.nodes["d"].process.Process
	require.NoError(t, stopped.Signal(syscall.SIGSTOP))
	other := c.visit("e", "room/2")
	c.play(other, "room/2")
	require.Equal(t, "e", c.home("room/2"))
	c.until("the node says whose image it has", func() bool { return strings.Contains(c.nodes["e"].output(), "the room's image is another node's") })
	require.NoError(t, stopped.Signal(syscall.SIGCONT))
	c.until("the node learns that it has lost the room", func() bool {
		return strings.Contains(c.nodes["d"].output(), "the cluster has given the room to another node")
	})
	_ = own.Close()
	back := c.visit("d", "room/2")
	c.play(back, "room/2")
	require.Equal(t, "e", c.home("room/2"))

	require.Equal(t, exitOK, c.nodes["a"].end(syscall.SIGTERM))
	for _, n := range c.directory().Nodes {
		require.Equal(t, n.Name == "a" || n.Name == "b", n.Dead, n.Name)
	}
	c.until("the lobby is taken", func() bool { return c.home("lobby") != "" })
	c.checkSteps(stopped.Pid)
	was := c.directory().Directory
	status, out := c.run("cluster", "adopt", "--cluster="+c.engine, "--was="+was)
	require.Equal(t, exitOK, status, out)
	require.NotEqual(t, was, c.directory().Directory)
	require.Contains(t, out, c.directory().Directory)
	require.NoError(t, errors.Join(other.Close(), back.Close()))
}

// TestRollingRestart: a room goes from node to node and back while each is restarted or killed, and continues from its newest image each
// time, although the nodes have folders of their own. A node that cannot have the image makes no other world.
func TestRollingRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("kills servers")
	}
	t.Run("a shared folder", func(t *testing.T) {
		c := startEngine(t)
		newest := filepath.Join(c.dir, "newest")
		c.restartInTurn("--image-shared="+newest, func(string) string { return newest })
		c.start("c", "own-c", "--image-copies=-1")
		home := c.home("room/1")
		require.Equal(t, exitOK, c.nodes["a"].end(syscall.SIGTERM))
		require.Equal(t, exitOK, c.nodes["b"].end(syscall.SIGTERM))
		ctx, stop := context.WithTimeout(t.Context(), soon)
		defer stop()
		c.until("the node refuses", func() bool {
			_, err := client.Dial(ctx, client.Config{Addr: c.addrs["c"], InsecureDev: true, Room: "room/1", Schema: bells(), Token: []byte("kept")})
			return err != nil && strings.Contains(err.Error(), "on a node that does not run")
		})
		c.until("the node says what to do", func() bool {
			return strings.Contains(c.nodes["c"].output(), "start one of the nodes that have it ("+home+")")
		})
		status, out := c.run("cluster", "forget", "room/1", "--cluster="+c.engine)
		require.Equal(t, exitOK, status, out)
		own := c.visit("c", "room/1")
		c.play(own, "room/1")
		require.NoError(t, own.Close())
	})
	t.Run("copies on other nodes", func(t *testing.T) {
		c := startEngine(t)
		copiesOf := func(node string) string { return copiesDir(filepath.Join(c.dir, "own-"+node)) }
		c.restartInTurn("--image-copies=2", copiesOf)
		own := c.visit("b", "room/1")
		c.play(own, "room/1")
		saved := c.awaitImage("room/1", copiesOf("a"))
		require.NoError(t, c.nodes["b"].process.Process.Kill()) // its machine is lost
		_ = own.Close()
		c.start("c", "own-c")
		own = c.visit("c", "room/1")
		c.play(own, "room/1")
		require.NoError(t, own.Close())
		require.GreaterOrEqual(t, firstTickOf(t, "room/1", c.nodes[c.home("room/1")].process.Process.Pid), saved)
	})
	t.Run("journals on other nodes", func(t *testing.T) {
		c := startEngine(t)
		c.settle()
		for _, node := range []string{"a", "b"} {
			c.start(node, "own-"+node, "--image-every=1h")
		}
		c.introduce("a", "b") // the only image of the room goes to the nodes that its own knows
		own := c.visit("a", "room/1")
		c.play(own, "room/1")
		copied := c.awaitJournal("room/1", copiesDir(filepath.Join(c.dir, "own-b")))
		dies := copied + rand.Uint64N(120)
		c.until("more ticks", func() bool { return tickOfLastStep(t, "room/1") >= dies })
		require.NoError(t, c.nodes["a"].process.Process.Kill()) // its machine is lost
		_ = c.nodes["a"].process.Wait()
		last := tickOfLastStep(t, "room/1")
		_ = own.Close()
		own = c.visit("b", "room/1")
		c.play(own, "room/1")
		require.NoError(t, own.Close())
		images := c.imagesOf("room/1", copiesDir(filepath.Join(c.dir, "own-b")))
		require.Len(t, images, 1, "of the beginning of the new run")
		begins := tickOfImage(t, images[0])
		require.GreaterOrEqual(t, begins, copied)
		t.Logf("of %d ticks the last %d are lost", last, last-min(begins, last))
	})
	t.Run("journals of other versions", func(t *testing.T) {
		c := startEngine(t)
		c.journalsOfOtherVersions()
	})
}

// journalsOfOtherVersions loses the machine of a room's node again and again, once the other one, which has a copy of its journal, was upgraded or
// rolled back. That one continues with the copy. No file is set aside as wrong, and no image changes.
func (c *processes) journalsOfOtherVersions() {
	c.settle()
	folders := map[string]string{"a": "own-a", "b": "own-b", "c": "own-c"}
	start := func(node, program string) {
		c.startProgram(program, node, folders[node], testLease, "--image-every=1h")
	}
	for _, node := range []string{"c", "a", "b"} { // c has the lobby
		start(node, "inn")
	}
	c.introduce("a", "b", "c") // the only image of the room goes to the nodes that its own knows
	nodes, all := []string{"a", "b"}, slices.Sorted(maps.Values(folders))
	for life, program := range []string{"next inn", "inn", "next inn", "next inn", "inn"} {
		loses, heir := nodes[life%2], nodes[1-life%2]
		own := c.visit(loses, "room/1")
		c.play(own, "room/1")
		require.Equal(c, loses, c.home("room/1"))
		require.Equal(c, exitOK, c.nodes[heir].end(syscall.SIGTERM))
		start(heir, program)
		copied := c.awaitJournal("room/1", copiesDir(filepath.Join(c.dir, folders[heir])))
		require.NoError(c, c.nodes[loses].process.Process.Kill())
		_ = c.nodes[loses].process.Wait()
		last := tickOfLastStep(c.T, "room/1")
		_ = own.Close()
		folders[loses] = fmt.Sprintf("own-%s-%d", loses, life) // its disk is lost: otherwise the room would be left to it
		all = append(all, folders[loses])
		c.until("the heir knows that the other is dead", func() bool {
			return !slices.ContainsFunc(c.known(heir).Nodes, func(n nodeInfo) bool { return n.Name == loses && !n.Dead })
		})
		start(loses, program)
		c.introduce("a", "b", "c")
		own = c.visit(heir, "room/1")
		c.play(own, "room/1")
		require.Equal(c, heir, c.home("room/1"))
		require.NoError(c, own.Close())
		begins := firstTickOf(c.T, "room/1", c.nodes[heir].process.Process.Pid) - 1
		require.GreaterOrEqual(c, begins, copied)
		require.Equal(c, program == "inn", strings.Contains(c.nodes[heir].output(), `component \"mana\": dropped`), "of the next version")
		require.NotContains(c, c.nodes[heir].output(), "the copy of the room's journal is not used")
		c.Logf("life %d: of %d ticks the last %d are lost", life, last, last-min(begins, last))
	}
	for _, folder := range all {
		require.NoError(c, filepath.WalkDir(filepath.Join(c.dir, folder), func(path string, entry fs.DirEntry, err error) error {
			require.NotRegexp(c, `\.(damaged|stale|skipped)`, path)
			if filepath.Ext(filepath.Dir(path)) == ".images" && !strings.Contains(path, "-journal-") {
				require.Equal(c, fmt.Sprintf("%x", sha256.Sum256(must.Get(os.ReadFile(path)))), path[strings.LastIndex(path, "-")+1:])
			}
			return err
		}))
	}
}

// imagesOf returns the images of a room in a folder of copies.
func (c *processes) imagesOf(room, dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(room)+".images", "*-*-*"))
	require.NoError(c, err)
	return slices.DeleteFunc(files, func(path string) bool { return strings.Contains(path, "-journal-") })
}

// awaitJournal waits until a folder has a copy of a room's journal with a tick that is later than now. It returns the last one in it.
func (c *processes) awaitJournal(room, dir string) (tick uint64) {
	begun := tickOfLastStep(c.T, room)
	c.until("the journal is copied", func() bool {
		copies, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(room)+".images", "*-journal-*"))
		require.NoError(c, err)
		for _, path := range copies {
			content, _ := os.ReadFile(path) // the node may have removed it meanwhile
			reader, err := world.NewJournalReader(bytes.NewReader(content))
			for err == nil {
				var frame world.JournalFrame
				if frame, err = reader.Next(); err == nil {
					tick = max(tick, frame.Tick)
				}
			}
		}
		return tick > begun
	})
	return tick
}

// awaitImage waits until a folder has an image of a room that is newer than now, and then a newer one: the directory names the first by then,
// or one after it. It returns the tick of the first.
func (c *processes) awaitImage(room, dir string) (saved uint64) {
	begun := tickOfLastStep(c.T, room)
	c.until("images are saved", func() bool {
		images := c.imagesOf(room, dir)
		require.LessOrEqual(c, len(images), 4, "%v", images)
		newest := uint64(0)
		for _, image := range images {
			newest = max(newest, tickOfImage(c.T, image))
		}
		if saved == 0 && newest > begun {
			saved = newest
		}
		return saved > 0 && newest > saved
	})
	return saved
}

// restartInTurn plays room/1 on two nodes, each of which ends while it has the room, and starts again. copiesOf returns the folder in which
// a node finds images.
func (c *processes) restartInTurn(flag string, copiesOf func(node string) string) {
	start := func(node string) { c.start(node, "own-"+node, flag, "--image-every=1s") }
	c.settle()
	start("a")
	start("b")
	nodes := []string{"a", "b"}
	for life := range 5 {
		here, there := nodes[life%2], nodes[1-life%2]
		own := c.visit(here, "room/1")
		c.play(own, "room/1")
		require.Equal(c, here, c.home("room/1"))
		saved := c.awaitImage("room/1", copiesOf(there))
		if life == 2 {
			require.NoError(c, c.nodes[here].process.Process.Kill())
			_ = c.nodes[here].process.Wait()
		} else {
			require.Equal(c, exitOK, c.nodes[here].end(syscall.SIGTERM))
		}
		_ = own.Close()
		next := c.visit(there, "room/1")
		c.play(next, "room/1")
		require.GreaterOrEqual(c, firstTickOf(c.T, "room/1", c.nodes[there].process.Process.Pid), saved, "life %d", life)
		require.NoError(c, next.Close())
		start(here)
	}
}

// tickOfImage returns the tick in the name of an image in a shared folder.
func tickOfImage(t *testing.T, path string) (tick uint64) {
	name, _, _ := strings.Cut(filepath.Base(path), ".") // or a temporary file
	parts := strings.Split(name, "-")
	require.Len(t, parts, 3, path)
	return must.Get(strconv.ParseUint(parts[1], 10, 64))
}

// wholeLines returns what processes have appended to a file, without the part of a line that is being written. It is empty if there is no file.
func wholeLines(path string) string {
	text, _ := os.ReadFile(path)
	return string(text[:bytes.LastIndexByte(text, '\n')+1])
}

// firstTickOf returns the tick of a room's first step in a process.
func firstTickOf(t *testing.T, room string, process int) uint64 {
	for line := range strings.Lines(wholeLines(os.Getenv(stepsFile))) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == room && fields[2] == strconv.Itoa(process) {
			return must.Get(strconv.ParseUint(fields[1], 10, 64))
		}
	}
	t.Fatalf("process %d has not stepped room %s", process, room)
	return 0
}

// settle makes a directory in which rooms may be taken at once.
func (c *processes) settle() {
	put := must.Get(json.Marshal(map[string][]byte{"key": []byte("worldd/id"), "value": []byte(`{"v":1,"id":"00000000000000a1","settled":true}`)}))
	answer := must.Get(http.Post(c.engine+"/v3/kv/put", "application/json", bytes.NewReader(put)))
	require.NoError(c, answer.Body.Close())
	require.Equal(c, http.StatusOK, answer.StatusCode)
}

// startForKills starts the engine of a cluster whose nodes are killed and begin again.
func startForKills(t *testing.T) *processes {
	if testing.Short() {
		t.Skip("kills servers")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the system does not name its start")
	}
	c := startEngine(t)
	c.settle()
	return c
}

// TestKilledNode: a node's next process runs its rooms at once, although nobody else may for a lease's time, and another node, which may take them
// from then on, sends clients there (C12 of package cluster). Two processes of one folder are never the same node.
func TestKilledNode(t *testing.T) {
	c := startForKills(t)
	const lease = 2 * soon // so long that no process gets a lease of a dead one in the time of this test
	c.startLeased("a", "own", lease)
	c.startLeased("b", "other", lease)
	c.until("the lobby is stepped", func() bool { return c.home("lobby") != "" })
	home := c.home("lobby")
	images, other := "own", "b"
	if home == "b" {
		images, other = "other", "a"
	}
	var took []time.Duration
	for range *clusterRestarts {
		c.introduce(home, other)
		status, out := c.run("serve", "--listen=127.0.0.1:0", "--advertise=127.0.0.1:1", "--cluster="+c.engine, "--node="+home, "--image="+filepath.Join(c.dir, images))
		require.NotEqual(t, exitOK, status)
		require.Contains(t, out, "another process runs this node from the same folder")

		own := c.visit(other, "lobby")
		c.play(own, "lobby")
		before := tickOfLastStep(t, "lobby")
		killed := time.Now()
		require.NoError(t, c.nodes[home].process.Process.Kill())
		<-c.nodes[home].ended
		c.startLeased(home, images, lease)
		next := c.visit(other, "lobby") // asks for the room first
		took = append(took, time.Since(killed))
		c.play(next, "lobby")
		require.Equal(t, home, c.home("lobby"))
		require.Greater(t, tickOfLastStep(t, "lobby"), before)
		require.NoError(t, errors.Join(own.Close(), next.Close()))
	}
	for _, node := range []string{home, other} {
		require.Equal(t, exitOK, c.nodes[node].end(syscall.SIGTERM))
	}
	c.checkSteps()
	slices.Sort(took)
	t.Logf("%d kills, from each until a client is in the room again: median %v, most %v", len(took), took[len(took)/2], took[len(took)-1])
}

// TestKilledNodeKeepsSessions: the runs of a killed node continue in its next process with their sessions, although other clients ask another node
// first.
func TestKilledNodeKeepsSessions(t *testing.T) {
	c := startForKills(t)
	t.Setenv(journeyFile, filepath.Join(c.dir, "journeys"))
	start := func(node string) { c.startProgram("caravan", node, "own-"+node, 2*soon) }
	start("a")
	start("b")
	c.introduce("a", "b")
	const room = "inn/1"
	own := must.Get(dialTraveller(t.Context(), "first", room, c.addrs["a"], c.addrs["b"]))
	for i := range *clusterRestarts {
		c.until("the traveller is in the room", func() bool { return own.update() == nil && own.own.State() == client.Joined })
		was := own.own.Welcome()
		require.NoError(t, c.nodes["a"].process.Process.Kill())
		<-c.nodes["a"].ended
		start("a")
		other := c.newTraveller("b", fmt.Sprint("other", i), room)
		c.until("the traveller notices", func() bool { return own.update() == nil && own.own.State() == client.Reconnecting })
		c.until("the traveller is back", func() bool { return own.update() == nil && own.own.State() == client.Joined })
		now := own.own.Welcome()
		require.Equal(t, []uint64{was.Epoch, was.Session}, []uint64{now.Epoch, now.Session})
		require.Equal(t, was.Epoch, other.own.Welcome().Epoch)
		require.NoError(t, own.checkHandles())
		require.Empty(t, own.confusions)
		require.NoError(t, other.own.Close())
	}
	require.NoError(t, own.own.Close())
}

// tickOfLastStep returns the newest tick of a room that any process has stepped.
func tickOfLastStep(t *testing.T, room string) (tick uint64) {
	for line := range strings.Lines(wholeLines(os.Getenv(stepsFile))) {
		fields := strings.Fields(line)
		require.Len(t, fields, 3)
		if fields[0] == room {
			tick = must.Get(strconv.ParseUint(fields[1], 10, 64))
		}
	}
	return tick
}

// TestClusterAdopt: a directory gets another identity, for the nodes that know the ones before.
func TestClusterAdopt(t *testing.T) {
	c := startEngine(t)
	for _, was := range []string{"00000000000000a1", "00000000000000b2"} {
		status, out := c.run("cluster", "adopt", "--cluster="+c.engine, "--was="+was)
		require.Equal(t, exitOK, status, out)
		require.Contains(t, out, c.directory().Directory)
	}
	status, out := c.run("cluster", "adopt", "--cluster="+c.engine, "--was=x")
	require.NotEqual(t, exitOK, status)
	require.Contains(t, out, "16 hexadecimal digits")
	status, out = c.run("cluster", "adopt", "--cluster="+c.engine)
	require.NotEqual(t, exitOK, status)
	require.Contains(t, out, "--was ID is missing")
}

// TestClusterFlags: contradictions and unsafe directories are refused before anything starts.
func TestClusterFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"need --cluster":            {"--node=a"},
		"want 2s to 5m0s":           {"--cluster=http://127.0.0.1:1", "--lease=1s"},
		"give --advertise":          {"--cluster=http://127.0.0.1:1", "--listen=0.0.0.0:4433", "--anyone"},
		"want HOST:PORT as clients": {"--cluster=http://127.0.0.1:1", "--advertise=nowhere"},
		"want https and a client":   {"--cluster=http://198.51.100.1:2379", "--node=a"},
		"client certificate":        {"--cluster=https://198.51.100.1:2379", "--node=a"},
		"no endpoint answers":       {"--cluster=http://127.0.0.1:1", "--node=a"},
		"no such file":              {"--cluster=http://127.0.0.1:1", "--cluster-ca=missing.pem"},
	} {
		status, out := runInn(t.Context(), inn(), append([]string{"serve"}, args...)...)
		require.NotEqual(t, exitOK, status)
		require.Contains(t, out, want, args)
	}
	var out strings.Builder
	status := Run(t.Context(), tag(), []string{"serve", "--cluster=http://127.0.0.1:1"}, Streams{strings.NewReader(""), &out, &out})
	require.Equal(t, exitUsage, status)
	require.Contains(t, out.String(), "this game has one world")
}

// Nodes that share a certificate reset no connections of each other.
func TestResetKeysOfNodes(t *testing.T) {
	key := func(f clusterFlags) [32]byte {
		k := [32]byte{1}
		f.saltResetKey(&k)
		return k
	}
	in := directoryFlags{Cluster: []string{"http://127.0.0.1:1"}}
	require.Equal(t, [32]byte{1}, key(clusterFlags{Node: "a"}))
	require.NotEqual(t, key(clusterFlags{directoryFlags: in, Node: "a"}), key(clusterFlags{directoryFlags: in, Node: "b"}))
	require.Equal(t, key(clusterFlags{directoryFlags: in, Node: "a"}), key(clusterFlags{directoryFlags: in, Node: "a"}))
}
