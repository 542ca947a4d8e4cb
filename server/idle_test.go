package server

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// idleEntities and idleTicks are the sleeping bodies and the ticks of TestIdleLoop. With idleSaved
// its world has a journal and is recorded.
const (
	idleEntities = "WORLDD_TEST_IDLE_ENTITIES"
	idleTicks    = "WORLDD_TEST_IDLE_TICKS"
	idleSaved    = "WORLDD_TEST_IDLE_SAVED"
)

// watched are the packages whose work TestIdleTickCostsTheSameInALargeWorld counts.
const watched = "../bulk,../world,../world/motion,../replication,./session,."

// An idle tick costs the same among 1,000,000 sleeping bodies as among 10,000, including the
// work done once a second. A journal and a recording add the same to both, since they hash at most 1,024 slots a tick: a 64th of
// the slots of a smaller world. The measure is the number of executed statements, which coverage
// counts.
func TestIdleTickCostsTheSameInALargeWorld(t *testing.T) {
	shorttest.Skip(t, "it builds a program")
	program := filepath.Join(t.TempDir(), "idle.test")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-covermode=count", "-coverpkg="+watched, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	work := func(entities, ticks int, saved string) (statements float64) {
		profile := filepath.Join(t.TempDir(), "profile")
		run := exec.CommandContext(t.Context(), program, "-test.run=^TestIdleLoop$", "-test.coverprofile="+profile)
		run.Env = append(os.Environ(), fmt.Sprintf("%s=%d", idleEntities, entities), fmt.Sprintf("%s=%d", idleTicks, ticks), idleSaved+"="+saved)
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return executed(t, profile)
	}
	const ticks = 200
	perTick := func(entities int, saved string) float64 {
		return (work(entities, 2*ticks, saved) - work(entities, ticks, saved)) / ticks
	}
	for _, c := range []struct {
		saved        string
		small, large int
	}{{"", 10_000, 1_000_000}, {"1", 1 << 16, 1 << 18}} {
		small, large := perTick(c.small, c.saved), perTick(c.large, c.saved)
		t.Logf("statements a tick: %.0f and %.0f", small, large)
		require.Less(t, large, 1.1*small)
	}
}

// executed returns the number of executed statements in a profile. Each line of the profile
// ends with a block's number of statements and its count.
func executed(t *testing.T, profile string) (n float64) {
	file := must.Get(os.Open(profile))
	defer file.Close()
	lines := bufio.NewScanner(file)
	require.True(t, lines.Scan())
	require.Equal(t, "mode: count", lines.Text())
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		statements := must.Get(strconv.ParseFloat(fields[1], 64))
		count := must.Get(strconv.ParseFloat(fields[2], 64))
		n += statements * count
	}
	require.NoError(t, lines.Err())
	return n
}

// TestIdleLoop ticks a world of sleeping bodies for one client that computes bodies and one
// that does not.
func TestIdleLoop(t *testing.T) {
	entities, err := strconv.Atoi(os.Getenv(idleEntities))
	if err != nil {
		t.Skip("part of TestIdleTickCostsTheSameInALargeWorld")
	}
	ticks := must.Get(strconv.Atoi(os.Getenv(idleTicks)))
	synctest.Test(t, func(t *testing.T) {
		w := sleepingWorld(t, entities)
		core := must.Get(session.NewCore(Config{WorldConfig: WorldConfig{World: w, Schema: schema.NewWithBody(), Epoch: 1, Replication: replication.Config{SnapshotHz: 10, EnterRadius: 8, LeaveRadius: 10}}}.sessionConfig()))
		var image ImageConfig
		if os.Getenv(idleSaved) != "" {
			image = ImageConfig{Store: must.Get(imagefile.Open(filepath.Join(t.TempDir(), "world.image"), 0)), Every: maxImageEvery, Journal: imagefile.JournalEverySecond}
			defer func() { require.NoError(t, image.Store.Close()) }()
			record(t, w)
		}
		l := newLoop(core, admin.NewTimings().Ticks(), newSaver(image, w, zap.NewNop()), zap.NewNop())
		l.journal = must.Get(newJournal(image, core, zap.NewNop(), func(_, _ time.Duration) {}))
		l.saver.journal = l.journal
		defer func() { require.NoError(t, l.journal.end()) }()
		require.NoError(t, l.saver.saveFirst())
		for _, abilities := range []wire.Abilities{0, wire.Simulates} {
			c := &stage.Conn{}
			c.OnSnapshot = func([][]byte) { _ = c.SendInput(c.Ack()) }
			openClient(t, core, c, abilities)
		}
		runFor(t, l, time.Duration(ticks)*testInterval-testInterval/4)
		require.EqualValues(t, ticks+1, l.report().Tick.Count)
		require.Equal(t, 2, core.Active())
		require.Zero(t, w.Stats().Awake)
	})
}

// record records w.
func record(t *testing.T, w *world.World) {
	var img world.Image
	w.TakeImage(&img)
	recorder := must.Get(w.Record(io.Discard, &img, uint64(w.TickHz())))
	t.Cleanup(func() { require.NoError(t, recorder.Close()) })
}

// sleepingWorld returns a world with bodies that sleep on a grid of equal density.
func sleepingWorld(t *testing.T, bodies int) *world.World {
	const spacing = 2
	side := int(math.Ceil(math.Sqrt(float64(bodies))))
	half := float32(side * spacing / 2)
	w := must.Get(world.New(world.Config{TickHz: 50, MaxEntities: bodies, HalfExtent: world.Vec3{X: half, Y: 10, Z: half}}))
	crate := must.Get(w.AddKind(world.Kind{Name: "crate", Exact: true, Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}}))
	for i := range bodies {
		at := world.Vec3{X: float32(i%side)*spacing - half, Y: 0.5, Z: float32(i/side)*spacing - half}
		e, err := w.SpawnFor(crate, at, world.Vec3{}, 0)
		if err != nil || !w.Sleep(e) {
			require.FailNow(t, "no body", "%v", err)
		}
	}
	return w
}
