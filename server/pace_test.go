package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/replication"
)

const paceInterval = time.Second / 60

// paceFor has seconds pass in which replication at full pace would take whole
// parts of a tick, and everything else rest, and returns the paces that were.
func paceFor(p *pacer, seconds int, whole, rest float64) (paces []int) {
	for range 60 * seconds {
		paces = append(paces, paceTick(p, whole, rest))
	}
	return paces
}

func paceTick(p *pacer, whole, rest float64) (pace int) {
	made := whole * float64(p.pace) / replication.FullPace
	late := max(made+rest-1, 0) // as far as one tick tells
	return p.tick(time.Duration(late*float64(paceInterval)), [phases]time.Duration{
		phaseStep: time.Duration(rest * float64(paceInterval)), phaseReplicate: time.Duration(made * float64(paceInterval)),
	})
}

func TestPaceStaysWhereThereIsTime(t *testing.T) {
	p := newPacer(60, 30)
	for _, pace := range paceFor(p, 60, 0.5, 0.15) {
		require.Equal(t, replication.FullPace, pace)
	}
}

// One pause, however long, is none of the snapshots' fault.
func TestPaceForgivesAStall(t *testing.T) {
	p := newPacer(60, 30)
	p.tick(0, [phases]time.Duration{phaseReplicate: 3 * time.Second})
	for range maxDebtTicks {
		p.tick(time.Second, [phases]time.Duration{})
	}
	for _, pace := range paceFor(p, 5, 0.2, 0.1) {
		require.Equal(t, replication.FullPace, pace)
	}
}

// Whatever snapshots cost, their pace is soon one at which ticks are in time, or
// the slowest; it stays there; and when the load is gone, all are made again.
func TestPaceSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPacer(60, rapid.SampledFrom([]int{10, 20, 30, 60}).Draw(t, "snapshot hz"))
		whole, rest := rapid.Float64Range(0, 12).Draw(t, "snapshots"), rapid.Float64Range(0, 1.5).Draw(t, "rest")
		paceFor(p, 15, whole, rest)
		settled := p.pace
		for _, pace := range paceFor(p, 60, whole, rest) {
			require.Equal(t, settled, pace)
		}
		if load := rest + whole*float64(p.pace)/replication.FullPace; load > crowdedShare {
			granted := whole*float64(p.pace)/replication.FullPace <= grantedShare
			require.True(t, granted || p.pace == p.least, "load %v at pace %d", load, p.pace)
		}
		if rest+whole < aimedShare || whole < grantedShare {
			require.Equal(t, replication.FullPace, p.pace)
		}
		paceFor(p, 5, min(whole, 0.3), min(rest, 0.1))
		require.Equal(t, replication.FullPace, p.pace)
	})
}

// A machine that is busy every other quarter of a second has room for more
// snapshots on average.
func TestPaceTakesTheMean(t *testing.T) {
	p := newPacer(60, 30)
	p.pace = 4
	for i := range 3 * 60 {
		paceTick(p, 1, 0.35*float64(i/p.window%2))
	}
	require.Equal(t, 5, p.pace, "0.5 less 0.175, of what a quarter at pace 4 takes")
}

// Too much is answered within a second, and what is left is not thrown away.
func TestPaceAnswersAtOnce(t *testing.T) {
	p := newPacer(60, 30)
	paceFor(p, 1, 2, 0.1)
	require.Equal(t, 4, p.pace, "halved twice: ticks take 0.6 of their time")
	p = newPacer(60, 30)
	paceFor(p, 1, 0.79, 0.1)
	require.Equal(t, 8, p.pace, "0.4 of 0.79")
}
