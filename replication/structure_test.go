package replication

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/replication/wire"
)

func destroyOf(slot uint32) wire.Record {
	return wire.Record{Op: wire.OpDestroy, Handle: bulk.NewHandle(slot, 1)}
}

// TestFlightsAreBounded: a client that reads but never acknowledges takes bounded memory.
// Its unacknowledged bytes are still counted exactly.
func TestFlightsAreBounded(t *testing.T) {
	var s structure
	sent := 0
	for i := range uint32(100_000) {
		s.appendRecord(destroyOf(i))
		sent += len(s.takeMessages(1))
		require.LessOrEqual(t, len(s.log), maxKeptLogBytes+32, "R8")
	}
	require.Equal(t, sent, s.outstandingBytes())
	require.Len(t, s.inflight, maxFlights)
	require.False(t, s.rewindTo(s.lastDropped-1), "R8: what is not kept can't be sent again")
	s.acknowledgeRecords(s.written)
	require.Zero(t, s.outstandingBytes())
	require.Empty(t, s.inflight)
	require.Empty(t, s.log)
	require.Zero(t, s.taken+s.droppedInFlight)
}

// TestStructureShrinks: buffers sized for a crowd are freed although some structure is
// always in flight.
func TestStructureShrinks(t *testing.T) {
	var s structure
	for i := range uint32(5_000) {
		s.appendRecord(destroyOf(i))
	}
	s.takeMessages(1)
	crowd := s.written
	require.Greater(t, cap(s.log), 8*keptStructureBytes)
	for i := range uint32(20) {
		s.appendRecord(destroyOf(i))
		s.takeMessages(1)
		s.acknowledgeRecords(max(crowd, s.written-1))
	}
	require.Len(t, s.inflight, 1)
	require.LessOrEqual(t, cap(s.log)+cap(s.batch), 2*keptStructureBytes)
	require.True(t, s.rewindTo(s.written-1), "the unacknowledged message is kept")
}

// TestRewindResendsMissing: after a rewind the client gets the records that it lacks, each
// once and in order, whatever was taken, acknowledged and lost before (R8). In this test, a
// record's handle is its number.
func TestRewindResendsMissing(t *testing.T) {
	racetest.SkipSequential(t)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var s structure
		var client wire.FrameReader
		applied, rewound := uint32(0), 0
		for range 300 {
			for range rng.IntN(4) {
				s.appendRecord(destroyOf(s.written + 1))
				if rng.IntN(8) == 0 {
					s.closeMessage(1)
				}
			}
			client.Feed(s.takeMessages(1))
			for range rng.IntN(3) { // the client may fall behind
				_, body, ok, err := client.Next()
				require.NoError(t, err)
				if !ok {
					break
				}
				m := must.Get(wire.ParseStructure(body))
				require.Equal(t, applied+1, m.First)
				for r := range m.Records() {
					applied++
					require.Equal(t, applied, r.Handle.Index(), "a record is always the same")
				}
			}
			switch rng.IntN(8) {
			case 0, 1, 2:
				s.acknowledgeRecords(applied - min(applied, uint32(rng.IntN(3))))
			case 3:
				client = wire.FrameReader{}
				require.True(t, s.rewindTo(applied))
				rewound++
			}
			require.LessOrEqual(t, s.taken, len(s.log))
		}
		require.NotZero(t, rewound)
		require.False(t, s.rewindTo(s.sent+1), "never sent")
	}
}

// TestRewindEndsAtMessages: a client applies whole messages, so rewinding to a number
// inside a message is refused.
func TestRewindEndsAtMessages(t *testing.T) {
	var s structure
	for range 3 {
		for range 4 {
			s.appendRecord(destroyOf(s.written + 1))
		}
		s.takeMessages(1)
	}
	for number := range uint32(14) {
		again := structure{log: s.log, taken: s.taken, sent: s.sent, written: s.written, inflight: s.inflight, unacked: s.unacked}
		require.Equal(t, number%4 == 0 && number <= 12, again.rewindTo(number), "record %d", number)
	}
}
