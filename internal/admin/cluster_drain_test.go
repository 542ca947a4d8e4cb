package admin

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// newClusteredServer returns the pages of node a, beside b and the dead c. Room match/1 is here, and match/2 on b. Moves take a minute.
func newClusteredServer() *drainedServer {
	s := newDrainedServer()
	s.Cluster = func() Cluster {
		return Cluster{Node: "a", Nodes: []ClusterNode{{Name: "a"}, {Name: "b", Rooms: []string{"match/2"}}, {Name: "c", Dead: true}}}
	}
	s.CreateRoom = func(context.Context, string) error { return nil }
	s.MoveRoom = func(_ context.Context, room, _ string) error {
		switch room {
		case "match/1":
			return nil
		case "match/full":
			return &wire.Error{Code: wire.ServerFull}
		case "match/moving":
			return &wire.Error{Code: wire.Draining, Detail: "the room is moving already"}
		case "match/unanswered":
			return errors.New("no answer")
		}
		return &wire.Error{Code: wire.NoRoom, Detail: "no room " + room}
	}
	s.MoveRooms = func(ctx context.Context) ([]string, error) {
		time.Sleep(time.Minute)
		return nil, ctx.Err()
	}
	return s
}

// Each mistake of an operator who moves or drains has a status and a sentence of its own, and moves nothing.
func TestClusterMovesOfOperators(t *testing.T) {
	alone := newDrainedServer()
	for _, c := range []struct {
		server *drainedServer
		path   string
		status int
		text   string
	}{
		{newClusteredServer(), "move?room=match/1&node=b", http.StatusOK, ""},
		{newClusteredServer(), "move?room=match/1", http.StatusBadRequest, "want the name of the node"},
		{newClusteredServer(), "move?node=b", http.StatusBadRequest, "want the name of a room"},
		{newClusteredServer(), "move?room=match/1&node=a", http.StatusConflict, "this is node a"},
		{newClusteredServer(), "move?room=match/1&node=d", http.StatusNotFound, `no node "d"`},
		{newClusteredServer(), "move?room=match/1&node=c", http.StatusConflict, "node c has left"},
		{newClusteredServer(), "move?room=match/3&node=b", http.StatusNotFound, "no room match/3"},
		{newClusteredServer(), "move?room=match/2&node=b", http.StatusConflict, "node b has the room"},
		{newClusteredServer(), "move?room=match/full&node=b", http.StatusConflict, "server-full"},
		{newClusteredServer(), "move?room=match/moving&node=b", http.StatusConflict, "moving already"},
		{newClusteredServer(), "move?room=match/unanswered&node=b", http.StatusInternalServerError, "no answer"},
		{alone, "move?room=match/1&node=b", http.StatusNotFound, "no node of a cluster"},
		{alone, "drain", http.StatusNotFound, "no node of a cluster"},
		{newClusteredServer(), "drain?node=b", http.StatusConflict, "this is node a"},
		{newClusteredServer(), "drain?seconds=soon", http.StatusBadRequest, "seconds"},
	} {
		status, text := c.server.post(t, c.path)
		require.Equal(t, c.status, status, c.path)
		require.Contains(t, text, c.text, c.path)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newClusteredServer()
		for _, want := range []int{http.StatusOK, http.StatusConflict} {
			status, _ := s.post(t, "drain?node=a")
			require.Equal(t, want, status, "twice at once")
		}
		time.Sleep(2 * time.Minute)
		status, _ := s.post(t, "drain?node=a")
		require.Equal(t, http.StatusOK, status, "the first has ended")
		time.Sleep(2 * time.Minute)
	})
}

// post answers a request to /cluster/.
func (s *drainedServer) post(t *testing.T, path string) (status int, text string) {
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/cluster/"+path, nil)
	handler := s.moveRoom
	if r.URL.Path == "/cluster/drain" {
		handler = s.drainNode
	}
	handler(w, r)
	return w.Code, w.Body.String()
}
