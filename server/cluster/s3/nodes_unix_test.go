//go:build unix

package s3

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

func TestMain(m *testing.M) {
	programtest.RunMain(m, func(string) {
		host.Main(host.Definition{
			Name: "clocks", About: "A clock in each room.", Version: "1", New: newClock, ImageCopies: FromEnvironment,
			Rooms: &server.RoomsConfig{Default: "clock/1", Kinds: map[string]server.RoomKind{"clock": {}}},
		})
	})
}

// Clock counts the ticks of its room.
type Clock struct{ Ticks uint32 }

// newClock makes a room with a clock, which images keep.
func newClock(o host.Options) (*host.Instance, error) {
	protocol := schema.NewWithBody()
	w := host.Must(world.New(world.Config{TickHz: 20, FirstGeneration: o.Room.Generations.First, LastGeneration: o.Room.Generations.Last}))
	clock := host.Must(w.AddKind(world.Kind{Name: "clock"}))
	clocks := host.Must(server.Register(w, schema.Define[Clock](protocol, "clock"), clock))
	host.Must(w.Spawn(clock, world.Vec3{}, world.Vec3{}))
	err := w.AddSystem(world.After, "count", func(*world.World) {
		for e := range clocks.All() {
			clocks.Mut(e).Ticks++
		}
	})
	return &host.Instance{WorldConfig: server.WorldConfig{World: w, Schema: protocol, Hooks: server.Hooks{
		Join: func(*server.Session) (world.Entity, error) { return 0, nil },
	}}}, err
}

// patience bounds what processes need on a loaded machine.
const patience = time.Minute

// nodes are a cluster of processes whose only common storage is the bucket.
type nodes struct {
	*testing.T
	dir, engine string
	bucket      *store
	addrs       map[string]string
	running     map[string]*exec.Cmd
}

// newNodes starts an etcd, or skips the test.
func newNodes(t *testing.T) *nodes {
	bin, err := exec.LookPath("etcd")
	if err != nil {
		require.Empty(t, os.Getenv("CLUSTER_TEST_ETCD"), "want etcd in PATH (Debian package etcd-server)")
		t.Skip("SKIPPED: NO NODES SHARED A BUCKET: etcd is missing (Debian package etcd-server)")
	}
	free := loopback.Reserve(t, 4)
	n := &nodes{t, t.TempDir(), "http://" + free[0], newStore(t), map[string]string{"a": free[1], "b": free[2]}, map[string]*exec.Cmd{}}
	peer := "http://" + free[3]
	n.run("etcd", exec.CommandContext(t.Context(), bin, "--data-dir", filepath.Join(n.dir, "data"), "--listen-client-urls", n.engine, "--advertise-client-urls", n.engine,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer))
	n.until("the engine answers", func() bool {
		answer, err := http.Get(n.engine + "/health")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	return n
}

// run starts a process, whose output goes to the file of its name.
func (n *nodes) run(name string, c *exec.Cmd) {
	log := must.Get(os.Create(filepath.Join(n.dir, name+".log")))
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	require.NoError(n, c.Start())
	n.running[name] = c
	n.Cleanup(func() { n.end(name, syscall.SIGKILL) })
}

func (n *nodes) end(name string, by syscall.Signal) {
	_ = n.running[name].Process.Signal(by)
	_ = n.running[name].Wait()
}

func (n *nodes) log(name string) string {
	return string(must.Get(os.ReadFile(filepath.Join(n.dir, name+".log"))))
}

func (n *nodes) until(what string, done func() bool) {
	n.Helper()
	for began := time.Now(); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			for name := range n.running {
				n.Logf("%s:\n%s", name, n.log(name))
			}
			require.FailNow(n, "never: "+what)
		}
	}
}

// start starts a node with a disk of its own, and again if the engine is too busy to answer, until it says something.
func (n *nodes) start(name, url, says string) {
	n.launch(name, url)
	n.until(name+" says "+says, func() bool {
		if strings.Contains(n.log(name), "no endpoint answers") {
			n.end(name, syscall.SIGKILL)
			n.launch(name, url)
		}
		return strings.Contains(n.log(name), says)
	})
}

func (n *nodes) launch(name, url string) {
	c := programtest.Command(n, "clocks", "serve", "--listen="+n.addrs[name], "--cluster="+n.engine, "--node="+name, "--lease=2s",
		"--image="+filepath.Join(n.dir, name), "--image-every=1s", "--journal=off")
	c.Env = append(c.Env, "IMAGE_S3_URL="+url, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=node", "AWS_SECRET_ACCESS_KEY=secret")
	n.run(name, c)
}

// clock joins the room through a node, and returns what its clock shows.
func (n *nodes) clock(name string) (ticks uint32) {
	clocks := schema.NewWithBody()
	of := client.Of(schema.Define[Clock](clocks, "clock"))
	ctx, stop := context.WithTimeout(n.Context(), patience)
	defer stop()
	var own *client.Client
	n.until("a client joins through "+name, func() (joined bool) {
		var err error
		own, err = client.Dial(ctx, client.Config{Addr: n.addrs[name], InsecureDev: true, Room: "clock/1", Schema: clocks})
		return err == nil
	})
	defer func() { _ = own.Close() }()
	n.until("the clock is seen", func() bool {
		require.NoError(n, own.Update())
		for e := range own.Replica().All() {
			if c, ok := of.Get(e); ok {
				ticks = c.Ticks
			}
		}
		return ticks > 0
	})
	return ticks
}

// saved returns the epoch and the tick of the newest image in the bucket. The clock counts these ticks.
func (n *nodes) saved() (epoch, tick uint32) {
	for _, key := range n.bucket.keys(n) {
		var e, at uint32
		if _, err := fmt.Sscanf(key, "eu/clock/1.images/%d-%d-", &e, &at); err == nil {
			epoch, tick = max(epoch, e), max(tick, at)
		}
	}
	return epoch, tick
}

// A node is lost with its disk, five times in turn. Another one, whose disk does not have the room, continues it from the bucket. A node with a wrong bucket does not
// start.
func TestNodeLostWithItsDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("kills servers")
	}
	n := newNodes(t)
	n.start("b", n.bucket.URL+"/elsewhere/eu", "make the bucket, or correct its name")
	_ = n.running["b"].Wait()
	require.Equal(t, 1, n.running["b"].ProcessState.ExitCode(), n.log("b"))

	serve := func(node string) { n.start(node, n.bucket.URL+"/rooms/eu", `"serving"`) }
	serve("a")
	n.clock("a")
	n.until("the room is in the bucket", func() bool { _, tick := n.saved(); return tick > 0 })
	lost, heir := "a", "b"
	for range 5 {
		serve(heir)
		epoch, tick := n.saved()
		n.until("the bucket has the next image", func() bool { // the newest one may not be in the directory yet
			_, next := n.saved()
			return next > tick
		})
		n.end(lost, syscall.SIGKILL)
		require.NoError(t, os.RemoveAll(filepath.Join(n.dir, lost)))
		require.GreaterOrEqual(t, n.clock(heir), tick)
		require.Contains(t, n.log(heir), "the room's image is another node's")
		n.until("the bucket has the heir's image alone", func() bool {
			now, _ := n.saved()
			return now > epoch && len(n.bucket.keys(t)) == 2
		})
		lost, heir = heir, lost
	}
	n.end(lost, syscall.SIGTERM)
	require.NoDirExists(t, filepath.Join(n.dir, lost, ".copies"), "nodes keep no copies for each other")
}
