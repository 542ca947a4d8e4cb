package imagefile

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/worldd/worldd/internal/disktest"
	"github.com/worldd/worldd/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everysec syncs once for each second, and not for each frame.
func TestJournalEverySecond(t *testing.T) {
	d := disktest.New()
	durable, seconds := make(chan uint64, 100), make(chan time.Time)
	s := &Store{path: simulatedImage, disk: d, keep: 3}
	j := must.Get(s.OpenJournal(JournalConfig{Mode: JournalEverySecond, Durable: func(tick uint64) { durable <- tick }, Seconds: seconds}))
	j.BeginSegment(7, 0, piece(0, 40))
	j.ImageSaved(0)
	for second := range uint64(3) {
		for n := range uint64(20) {
			tick := second*20 + n + 1
			j.Append(tick, piece(tick, frameSize(tick)))
		}
		seconds <- time.Time{} // the writer is not writing: it may have written any part
		seconds <- time.Time{}
		synced := max(<-durable, <-durable)
		require.LessOrEqual(t, synced, second*20+20)
		require.LessOrEqual(t, j.Stats().Syncs, 2*(second+1))
	}
	require.NoError(t, j.Close())
	newest := uint64(0)
	for len(durable) > 0 { // the first frame of a start is synced at once, maybe alone
		newest = <-durable
	}
	require.Equal(t, uint64(60), newest, "Close syncs the rest")
	require.Equal(t, JournalRunning, j.Stats().State)
	d.Put(simulatedImage, piece(0, 1))
	require.Equal(t, uint64(60), recoverDisk(t, d.PowerLoss(disktest.Drop, rand.New(rand.NewPCG(0, 0))), 7).tick)
	j.Append(61, nil) // does nothing
	require.NoError(t, j.Close())
}

// everysec wakes the writer for the first frame of a segment, and then at most once in writeEvery or for many bytes.
func TestJournalEverySecondCollectsFrames(t *testing.T) {
	for mode, want := range map[JournalMode][]int{JournalEverySecond: {1, 6, 11, 16, 18}, JournalAlways: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}} {
		clock := time.Unix(1000, 0)
		j, err := (&Store{path: simulatedImage, disk: disktest.New(), keep: 3}).newJournal(JournalConfig{Mode: mode, Now: func() time.Time { return clock }})
		require.NoError(t, err)
		j.BeginSegment(7, 0, piece(0, 40))
		<-j.wake
		var woken []int
		for tick := 1; tick <= 20; tick++ {
			size := 10
			if tick == 18 {
				size = keptBytes
			}
			j.Append(uint64(tick), make([]byte, size))
			clock = clock.Add(writeEvery / 5)
			if len(j.wake) > 0 {
				<-j.wake
				woken = append(woken, tick)
				_, _ = j.queue.take(batch{})
			}
		}
		require.Equal(t, want, woken, mode.String())
	}
}

// The delay of a sync is the time since its oldest frame was queued.
func TestJournalDelay(t *testing.T) {
	d := disktest.New()
	s := &Store{path: simulatedImage, disk: d, keep: 3}
	clock, seconds := time.Unix(1000, 0), make(chan time.Time)
	var delays []time.Duration
	j := must.Get(s.OpenJournal(JournalConfig{
		Mode: JournalEverySecond, Seconds: seconds, Now: func() time.Time { return clock },
		Synced: func(_, delay time.Duration) { delays = append(delays, delay) },
	}))
	j.BeginSegment(7, 0, piece(0, 40))
	j.ImageSaved(0)
	j.Append(1, piece(1, frameSize(1)))
	j.Await() // the first frame of a start is synced at once
	for tick := range uint64(3) {
		j.Append(tick+2, piece(tick+2, frameSize(tick+2)))
		j.Await() // the writer is idle: the clock may move
		clock = clock.Add(50 * time.Millisecond)
	}
	require.NoError(t, j.Close())
	require.Equal(t, []time.Duration{0, 150 * time.Millisecond}, delays)
}

// Close waits for a sync and writes what was queued behind it.
func TestJournalCloseDuringSync(t *testing.T) {
	d := disktest.New()
	s := &Store{path: simulatedImage, disk: d, keep: 3}
	syncing, proceed := make(chan bool), make(chan bool)
	released := uint64(0)
	j := must.Get(s.OpenJournal(JournalConfig{Mode: JournalAlways, Durable: func(tick uint64) { released = tick }}))
	d.SetFail(func(op disktest.Op, path string) error {
		if op == disktest.Sync && !strings.HasSuffix(path, ".tmp") { // not of the head
			syncing <- true
			<-proceed
		}
		return nil
	})
	j.BeginSegment(7, 0, piece(0, 40))
	require.NoError(t, j.ImageSaved(0))
	j.Append(1, piece(1, 10))
	<-syncing
	j.Append(2, piece(2, 10))
	j.Append(3, piece(3, 10))
	require.Positive(t, j.Stats().Oldest)
	closed := make(chan error)
	go func() { closed <- j.Close() }()
	for !j.queueClosed() {
		j.Append(4, piece(4, 10)) // what comes before Close is written
	}
	proceed <- true
	<-syncing // the group of all frames that waited
	select {
	case <-closed:
		t.Error("closed before the last sync")
	default:
	}
	proceed <- true
	require.NoError(t, <-closed)
	require.GreaterOrEqual(t, released, uint64(3))
	require.Zero(t, j.Stats().Oldest)
}

// A warm tick allocates nothing to hand over its frame, and a burst does not keep its memory.
func TestJournalQueueMemory(t *testing.T) {
	q, frame, done := journalQueue{limit: maxQueuedBytes}, piece(1, 5000), batch{}
	tick := func() {
		q.push(entry{kind: entryFrames, tick: 1}, frame)
		q.push(entry{kind: entryFrames, tick: 2}, frame)
		done, _ = q.take(done)
	}
	tick()
	tick()
	require.Zero(t, testing.AllocsPerRun(100, tick))
	require.Equal(t, 2*len(frame), len(done.data))
	require.Len(t, done.entries, 1)
	q.push(entry{kind: entryFrames, tick: 3}, make([]byte, 4*keptBytes))
	done, _ = q.take(done)
	done, _ = q.take(done)
	require.Zero(t, cap(q.waiting.data))
}

func TestJournalConfig(t *testing.T) {
	s := &Store{path: simulatedImage, disk: disktest.New(), keep: 3}
	require.ErrorContains(t, must.Fail(s.OpenJournal(JournalConfig{})), "always or everysec")
	require.ErrorContains(t, must.Fail(s.OpenJournal(JournalConfig{Mode: JournalAlways, MaxBytes: -1})), "1 GiB")
	for _, name := range modeNames {
		var m JournalMode
		require.NoError(t, m.UnmarshalText([]byte(name)))
		text := must.Get(m.MarshalText())
		require.Equal(t, name, string(text))
	}
	var m JournalMode
	require.ErrorContains(t, m.UnmarshalText([]byte("sometimes")), `"sometimes": want always, everysec or off`)
}

// Five processes write the journal of one image to real files, and leave nothing if the image goes.
func TestJournalRealFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "w")
	for run := range uint64(5) {
		s := open(t, path, 3)
		j := must.Get(s.OpenJournal(JournalConfig{Mode: JournalAlways}))
		tick := run * 10
		j.BeginSegment(run, tick, piece(tick, 10))
		for range 10 {
			tick++
			j.Append(tick, piece(tick, 3000))
		}
		require.NoError(t, j.Close())
		require.Equal(t, tick, j.Stats().Durable)
		require.Equal(t, JournalBegun, j.Stats().State, "its image was not saved")
		segments := must.Get(s.Segments())
		require.Len(t, segments, 1)
		require.Equal(t, Segment{Path: segmentPath(path, run, run*10, 0), Run: run, Tick: run * 10, Bytes: 10*3016 + 26}, segments[0])
		info := must.Get(os.Stat(segments[0].Path))
		require.Equal(t, os.FileMode(0o600), info.Mode(), "it has the secrets of sessions")
		require.NoError(t, s.Close())
		require.Empty(t, files(t, dir), "there is no image")
	}
}

// A folder that is gone suspends the journal.
func TestJournalWithoutFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(dir, 0o700))
	s := open(t, filepath.Join(dir, "w"), 3)
	failed := make(chan error, 1)
	j := must.Get(s.OpenJournal(JournalConfig{Mode: JournalAlways, Failed: func(err error) { failed <- err }}))
	require.NoError(t, os.RemoveAll(dir))
	j.BeginSegment(1, 0, piece(0, 10))
	require.ErrorIs(t, <-failed, syscall.ENOENT)
	require.ErrorIs(t, j.Close(), syscall.ENOENT)
}

func (j *Journal) queueClosed() bool {
	j.queue.mu.Lock()
	defer j.queue.mu.Unlock()
	return j.queue.closed
}

// A panic of the journal's goroutine is reported. Afterwards nothing leaves, and nobody waits for ever.
func TestJournalPanics(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "w"), 0)
	reported := make(chan any, 1)
	j := must.Get(s.OpenJournal(JournalConfig{
		Mode: JournalAlways, Durable: func(uint64) { panic("a fault") },
		Panicked: func(value any, stack []byte) { reported <- value },
	}))
	j.Append(1, []byte("frame"))
	require.Equal(t, "a fault", <-reported)
	for tick := range uint64(5) {
		j.Append(2+tick, []byte("frame"))
		j.Await()
	}
	require.Equal(t, JournalBroken, j.Stats().State)
	require.ErrorIs(t, j.Close(), ErrJournalBroken)
	require.ErrorContains(t, j.Close(), "its goroutine panicked: a fault")
}
