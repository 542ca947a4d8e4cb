package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
)

// resumes lets the session resume over another connection.
func (f *predictionServer) resumes() {
	f.session.Reconnect()
	f.welcome.Resumed, f.welcome.Structure = 1, structureOf(f.session, 1)
	f.stream(wire.TypeWelcome, f.welcome.Append(nil))
}

// Effects of inputs that were lost with the connection are undone when the session has
// resumed. If the server has applied the input, they are final.
func TestOnceBeforeAnOutage(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		for _, outage := range []int{1, predictionLead, 10, 300} {
			f := newPredictionServer(t, client.PredictConfig{})
			f.beginOnceAtJumps()
			f.frames(10, still)
			at := f.input(lever{Jump: true})
			if !arrives {
				delete(f.inputs, at)
			}
			f.session.Lost(nil)
			for range outage {
				f.serve()
			}
			require.Empty(t, f.undone)
			f.resumes()
			f.snapshot()
			f.frames(5, still)
			if arrives && f.tick-5 >= at {
				require.Empty(t, f.undone, "outage of %d ticks", outage)
			} else {
				require.Equal(t, []uint64{7}, f.undone, "outage of %d ticks", outage)
			}
		}
	}
}

// An attempt to reconnect that fails loses no inputs: none was sent.
func TestInputsDuringFailedAttempts(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(10, right)
	for tick := range f.inputs {
		if tick > f.tick {
			delete(f.inputs, tick) // under way
		}
	}
	f.session.Lost(nil)
	f.serve()
	at := f.input(lever{Z: 1})
	f.session.Reconnect()
	f.session.Lost(nil)
	f.resumes()
	f.serve()
	f.snapshot()
	require.Less(t, f.tick, at)
	require.Equal(t, at, f.play.Stats().Predicted)
	nearRunner(t, f.ahead(at), f.predicted(), "with the input")
}
