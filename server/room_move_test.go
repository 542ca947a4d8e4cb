package server

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
)

// movable saves rooms in a folder of each node, and shares the images.
func movable(t *testing.T, mode imagefile.JournalMode) func(*RoomsConfig) {
	shared := t.TempDir()
	return func(c *RoomsConfig) {
		if mode != imagefile.JournalOff {
			journaledRooms(t.TempDir(), mode)(c)
		}
		c.Images = RoomImages{Dir: t.TempDir(), Shared: shared, Every: time.Second, Journal: mode}
	}
}

// resumeAt lets the client of a Welcome ask a node for its session.
func resumeAt(h *testRooms, token string, was wire.Welcome) *roomClient {
	return h.greet(func(m *wire.Hello) {
		m.Room, m.Token, m.Session, m.Secret, m.Epoch, m.Structure = was.Room, []byte(token), was.Session, was.Secret, was.Epoch, was.Structure
	})
}

// A room with a journal moves with its run: its clients resume there, are led there by the node that it has left, and handles stay. It
// moves back as well.
func TestRoomMovesWithItsSessions(t *testing.T) {
	for _, mode := range []imagefile.JournalMode{imagefile.JournalEverySecond, imagefile.JournalAlways} {
		inTwoServers(t, movable(t, mode), func(x *twoServers) {
			t := x.t
			from, to, there := x.a, x.b, "b:2"
			ann := greetAs(from, "match/1", "ann")
			for range 2 {
				time.Sleep(1200 * time.Millisecond)
				welcome, tick := ann.newestWelcome(), from.tick("match/1")
				entity := from.now("match/1").core.World().Config().FirstGeneration
				from.takeCalls()
				require.NoError(t, from.moveRoom(context.Background(), "match/1", there))
				time.Sleep(time.Second)
				sent := wire.Error{Code: wire.Moved, Detail: wire.SessionThere, Address: there, Token: []byte{}}
				require.Equal(t, sent, ann.Snapshot().Ended)
				require.Empty(t, from.names())
				require.Empty(t, from.takeCalls(), "Leave is not called")
				require.GreaterOrEqual(t, to.tick("match/1"), tick)
				require.Equal(t, welcome.Epoch, to.now("match/1").core.Config().Epoch)
				require.Equal(t, entity, to.now("match/1").core.World().Config().FirstGeneration)
				require.Equal(t, 1, to.away("match/1"))

				sent.Token = []byte("ann")
				require.Equal(t, sent, resumeAt(from, "ann", welcome).Snapshot().Ended, "as a client learns that asks again")
				ann = resumeAt(to, "ann", welcome)
				require.Equal(t, welcome.Session, ann.newestWelcome().Session)
				require.Equal(t, welcome.Epoch, ann.newestWelcome().Epoch)
				require.Zero(t, to.away("match/1"))
				from, to = to, from
				there = map[string]string{"a:1": "b:2", "b:2": "a:1"}[there]
			}
			require.Equal(t, map[string]uint64{"out": 1, "in": 1, "stayed": 0}, x.a.clusterReport().Moves)
		})
	}
}

// A client that resumes needs no token: a node that its room has left sends it on, with the used token that it has shown, also before that node
// has heard which node has the room.
func TestResumeAfterAMoveNeedsNoToken(t *testing.T) {
	inTwoServers(t, movable(t, imagefile.JournalAlways), func(x *twoServers) {
		t := x.t
		x.once = true
		ann := greetAs(x.a, "match/1", "ann")
		time.Sleep(time.Second)
		was := ann.newestWelcome()
		require.NoError(t, x.a.moveRoom(context.Background(), "match/1", "b:2"))
		time.Sleep(time.Second)
		for _, blind := range []bool{false, true} {
			x.nodeA.blind.Store(blind)
			sent := resumeAt(x.a, "ann", was).Snapshot().Ended
			require.Equal(t, wire.Error{Code: wire.Moved, Detail: wire.SessionThere, Address: "b:2", Token: []byte("ann")}, sent, "blind: %v", blind)
			ann = resumeAt(x.b, "ann", was)
			require.Equal(t, was.Session, ann.newestWelcome().Session)
			was = ann.newestWelcome()
		}
		was.Secret = make([]byte, wire.SecretBytes)
		require.Equal(t, wire.Unauthorized, resumeAt(x.b, "ann", was).Snapshot().Ended.Code)
		x.nodeA.blind.Store(false)
	})
}

// With JournalAlways the image that goes along is from before the last tick, so that the room stands still for its journal alone. The journal
// also has the ends of sessions in between.
func TestRoomStandsStillForItsJournal(t *testing.T) {
	for mode, behind := range map[imagefile.JournalMode]bool{imagefile.JournalEverySecond: false, imagefile.JournalAlways: true} {
		inTwoServers(t, movable(t, mode), func(x *twoServers) {
			t := x.t
			ann, bob := greetAs(x.a, "match/1", "ann"), greetAs(x.a, "match/1", "bob")
			time.Sleep(1500 * time.Millisecond)
			was := x.a.now("match/1")
			x.a.takeCalls()
			x.nodeB.cutMove = func(ask string) error {
				switch ask {
				case askTake:
					was.core.Kick(bob.newestWelcome().Session, "")
				case askHand:
					image, _, err := x.nodeA.FindImage("match/1")
					require.NoError(t, err)
					require.Equal(t, behind, image.Tick < was.core.World().Tick())
				}
				return nil
			}
			require.NoError(t, x.a.moveRoom(context.Background(), "match/1", "b:2"))
			time.Sleep(time.Second)
			require.Equal(t, []string{"leave match/1 bob"}, x.a.takeCalls())
			require.Equal(t, 1, x.b.away("match/1"))
			require.Equal(t, was.core.Config().Epoch, x.b.now("match/1").core.Config().Epoch)
			require.Equal(t, ann.newestWelcome().Session, resumeAt(x.b, "ann", ann.newestWelcome()).newestWelcome().Session)
		})
	}
}

// A node that has taken a room and cannot make it gives it back: the newest image is older than the last tick, and only the other node has the
// journal. Clients are sent back to the same run.
func TestMovedRoomIsGivenBack(t *testing.T) {
	inTwoServers(t, movable(t, imagefile.JournalAlways), func(x *twoServers) {
		t := x.t
		ann := greetAs(x.a, "match/1", "ann")
		time.Sleep(1500 * time.Millisecond)
		was, tick := ann.newestWelcome(), uint64(0)
		x.nodeB.cutMove = func(ask string) error {
			if ask == askHand { // the room stands still
				tick = x.a.now("match/1").core.World().Tick()
			}
			return nil
		}
		folder := filepath.Join(x.b.config.Images.Dir, "match")
		require.NoError(t, os.WriteFile(folder, nil, 0o600))
		require.NoError(t, x.a.moveRoom(context.Background(), "match/1", "b:2"))
		time.Sleep(2 * brokenFor)
		require.Empty(t, x.b.names())
		require.Equal(t, "a:1", resumeAt(x.b, "ann", was).Snapshot().Ended.Address)
		ann = resumeAt(x.a, "ann", was)
		require.Equal(t, []any{was.Session, was.Epoch}, []any{ann.newestWelcome().Session, ann.newestWelcome().Epoch})
		require.GreaterOrEqual(t, x.a.tick("match/1"), tick, "nothing is lost")
		require.EqualValues(t, 0, x.b.clusterReport().Moves["in"])

		require.NoError(t, os.Remove(folder))
		time.Sleep(1500 * time.Millisecond)
		require.NoError(t, x.a.moveRoom(context.Background(), "match/1", "b:2"))
		time.Sleep(time.Second)
		require.Equal(t, was.Epoch, x.b.now("match/1").core.Config().Epoch)
	})
}

// dieOnceHanded makes node b answer that it has the journal of a room, and end before it takes the room.
func (x *twoServers) dieOnceHanded() {
	x.nodeB.cutMove = func(ask string) error {
		if ask == askHand {
			x.nodeB.waits.Store(true)
			x.nodeB.mu.Lock()
			x.nodeB.dead["b:2"] = true
			x.nodeB.mu.Unlock()
		}
		return nil
	}
}

// A node that ends between the release of a room and its taking loses nothing: the node that has released the room continues the run, with its
// sessions, and a drain then tries another node.
func TestHeirEndsBeforeItHasTheRoom(t *testing.T) {
	for _, mode := range []imagefile.JournalMode{imagefile.JournalAlways, imagefile.JournalOff} {
		inTwoServers(t, movable(t, mode), func(x *twoServers) {
			t := x.t
			ann := greetAs(x.a, "match/1", "ann")
			time.Sleep(1500 * time.Millisecond)
			was, tick := ann.newestWelcome(), x.a.tick("match/1")
			x.dieOnceHanded()
			require.ErrorIs(t, x.a.moveRoom(context.Background(), "match/1", "b:2"), errNotTakenOver)
			time.Sleep(time.Second)
			require.GreaterOrEqual(t, x.a.tick("match/1"), tick, "nothing is lost")
			if mode == imagefile.JournalAlways {
				ann = resumeAt(x.a, "ann", was)
				require.Equal(t, []any{was.Session, was.Epoch}, []any{ann.newestWelcome().Session, ann.newestWelcome().Epoch})
			}
			require.Equal(t, map[string]uint64{"out": 0, "in": 0, "stayed": 1}, x.a.clusterReport().Moves)

			x.nodeB.waits.Store(false) // the next process of the node
			x.nodeB.cutMove = nil
			x.nodeB.mu.Lock()
			x.nodeB.dead["b:2"] = false
			x.nodeB.mu.Unlock()
			time.Sleep(takeTimeout)
			require.NoError(t, x.a.moveRoom(context.Background(), "match/1", "b:2"))
			time.Sleep(time.Second)
			require.GreaterOrEqual(t, x.b.tick("match/1"), tick)
			if mode == imagefile.JournalAlways {
				require.Equal(t, was.Epoch, x.b.now("match/1").core.Config().Epoch)
			}
		})
	}
}

// A node has the journal and the image of a room on its disk before it takes the room: if its process dies afterwards, the next one finds both.
func TestJournalIsStoredBeforeTheTaking(t *testing.T) {
	inTwoServers(t, movable(t, imagefile.JournalAlways), func(x *twoServers) {
		t := x.t
		greetAs(x.a, "match/1", "ann")
		time.Sleep(1500 * time.Millisecond)
		x.nodeB.waits.Store(true)
		failed := make(chan error, 1)
		go func() { failed <- x.a.moveRoom(context.Background(), "match/1", "b:2") }()
		time.Sleep(time.Second)
		path := filepath.Join(x.b.config.Images.Dir, "match", "1"+imageSuffix)
		require.FileExists(t, path)
		head, err := imagefile.ReadHead(path)
		require.NoError(t, err)
		image, _, err := x.nodeB.FindImage("match/1")
		require.NoError(t, err)
		require.Equal(t, image.Tick, head.Tick())
		x.nodeB.mu.Lock()
		x.nodeB.dead["b:2"] = true
		x.nodeB.mu.Unlock()
		require.ErrorIs(t, <-failed, errNotTakenOver)
		time.Sleep(time.Second)
		require.True(t, imagefile.HasRun(path, x.a.now("match/1").core.Config().Epoch), "its journal")
	})
}

// A room that has come with its journal outlasts crashes of its new node, before and after that has saved an image of its own: the run
// continues at the last tick, with its sessions and in its block.
func TestMovedRoomOutlastsCrashes(t *testing.T) {
	config := movable(t, imagefile.JournalAlways)
	inTwoServers(t, config, func(x *twoServers) {
		t := x.t
		ann := greetAs(x.a, "match/1", "ann")
		time.Sleep(1500 * time.Millisecond)
		was, generation := ann.newestWelcome(), x.a.now("match/1").core.World().Config().FirstGeneration
		require.NoError(t, x.a.moveRoom(context.Background(), "match/1", "b:2"))
		time.Sleep(300 * time.Millisecond)
		saved := x.nodeB.imageOf("match/1").Tick
		for crash := range 5 {
			tick := x.b.tick("match/1")
			require.Equal(t, crash == 0, x.nodeB.imageOf("match/1").Tick == saved, "crash %d", crash)
			x.crashB("match/1", config)
			ann = resumeAt(x.b, "ann", was)
			require.NotEmpty(t, ann.Snapshot().Welcomes, "crash %d: %v", crash, ann.Snapshot().Ended)
			now := ann.newestWelcome()
			require.Equal(t, []any{was.Session, was.Epoch}, []any{now.Session, now.Epoch}, "crash %d", crash)
			require.GreaterOrEqual(t, x.b.tick("match/1"), tick, "crash %d", crash)
			require.Equal(t, generation, x.b.now("match/1").core.World().Config().FirstGeneration)
			was = now
			time.Sleep(time.Duration(600*crash+300) * time.Millisecond)
		}
		require.Equal(t, []string{"join match/1 ann"}, x.a.takeCalls())
	})
}

// Without a journal the sessions of a room that moves end, and its world continues there.
func TestRoomMovesWithoutAJournal(t *testing.T) {
	inTwoServers(t, movable(t, imagefile.JournalOff), func(x *twoServers) {
		t := x.t
		ann := greetAs(x.a, "match/1", "ann")
		time.Sleep(1500 * time.Millisecond)
		tick := x.a.tick("match/1")
		require.NoError(t, x.a.moveRoom(context.Background(), "match/1", "b:2"))
		time.Sleep(time.Second)
		require.Equal(t, wire.Draining, ann.code())
		require.Equal(t, []string{"join match/1 ann", "leave match/1 ann"}, x.a.takeCalls())
		require.GreaterOrEqual(t, x.b.tick("match/1"), tick)
		require.Equal(t, wire.OK, greetAs(x.b, "match/1", "ann").code())
	})
}

// A move that the other node refuses, or does not answer, leaves the room where it is. If that happens after its last tick, its next run
// continues with the same sessions.
func TestRoomStays(t *testing.T) {
	lost := errors.New("no answer")
	for _, how := range []struct {
		name  string
		fails func(x *twoServers)
		open  bool // the run continues
	}{
		{"it does not agree", func(x *twoServers) { x.nodeB.cutMove = failing(askTake, lost) }, true},
		{"it agrees, and the answer is lost", func(x *twoServers) { x.nodeB.missed = failing(askTake, lost) }, true},
		{"it is cordoned", func(x *twoServers) { x.b.router.Cordon() }, true},
		{"it is cut off", func(x *twoServers) { x.nodeB.cutMove = failing(askHand, lost) }, false},
		{"it is cut off a little later", func(x *twoServers) { x.nodeB.missed = failing(askHand, lost) }, false},
		{"the image cannot be saved", func(x *twoServers) {
			require.NoError(x.t, os.RemoveAll(x.a.config.Images.Shared))
			require.NoError(x.t, os.WriteFile(x.a.config.Images.Shared, nil, 0o600))
		}, false},
	} {
		t.Run(how.name, func(t *testing.T) {
			inTwoServers(t, movable(t, imagefile.JournalAlways), func(x *twoServers) {
				t := x.t
				ann := greetAs(x.a, "match/1", "ann")
				time.Sleep(1500 * time.Millisecond)
				welcome, tick := ann.newestWelcome(), x.a.tick("match/1")
				how.fails(x)
				require.Error(t, x.a.moveRoom(context.Background(), "match/1", "b:2"))
				time.Sleep(2 * time.Second)
				require.Equal(t, how.open, ann.code() == wire.OK)
				require.GreaterOrEqual(t, x.a.tick("match/1"), tick)
				if !how.open {
					ann = resumeAt(x.a, "ann", welcome)
				}
				require.Equal(t, welcome.Session, ann.newestWelcome().Session)
				require.Equal(t, welcome.Epoch, ann.newestWelcome().Epoch)
				require.Empty(t, x.b.names(), "it waits no longer")
				x.nodeB.cutMove, x.nodeB.missed = nil, nil
				x.b.router.Uncordon()
				_ = os.Remove(x.a.config.Images.Shared) // unless it is a folder with images
				require.NoError(t, os.MkdirAll(x.a.config.Images.Shared, 0o755))
				require.NoError(t, x.a.moveRoom(context.Background(), "match/1", "b:2"))
				time.Sleep(time.Second)
				require.Equal(t, welcome.Epoch, x.b.now("match/1").core.Config().Epoch)
			})
		})
	}
}

func failing(ask string, err error) func(string) error {
	return func(q string) error {
		if q == ask {
			return err
		}
		return nil
	}
}

// A pinned room moves to the node that waits for it, and its former one waits from then on.
func TestPinnedRoomMoves(t *testing.T) {
	config := movable(t, imagefile.JournalAlways)
	inTwoServers(t, func(c *RoomsConfig) {
		config(c)
		c.Kinds["lobby"] = RoomKind{New: c.Kinds["match"].New, Pinned: true}
	}, func(x *twoServers) {
		t := x.t
		time.Sleep(2 * time.Second)
		greetAs(x.a, "lobby", "ann")
		epoch := x.a.now("lobby").core.Config().Epoch
		require.NoError(t, x.a.moveRoom(context.Background(), "lobby", "b:2"))
		time.Sleep(3 * time.Second)
		require.Nil(t, x.a.now("lobby"))
		require.Equal(t, epoch, x.b.now("lobby").core.Config().Epoch)
		require.NoError(t, x.b.moveRoom(context.Background(), "lobby", "a:1"))
		time.Sleep(3 * time.Second)
		require.Equal(t, epoch, x.a.now("lobby").core.Config().Epoch)
	})
}

// Rooms that cannot move are refused before anything changes.
func TestRoomsThatDoNotMove(t *testing.T) {
	inTwoServers(t, asIs, func(x *twoServers) {
		t := x.t
		greetAs(x.a, "match/1", "ann")
		require.ErrorIs(t, x.a.moveRoom(context.Background(), "match/1", "b:2"), errNotShared)
	})
	inTwoServers(t, movable(t, imagefile.JournalAlways), func(x *twoServers) {
		t := x.t
		ctx := context.Background()
		require.Equal(t, wire.NoRoom, wire.CodeOf(x.a.moveRoom(ctx, "match/1", "b:2")))
		greetAs(x.a, "match/1", "ann")
		require.ErrorContains(t, x.a.moveRoom(ctx, "match/1", "c:3"), "no such node")
		for _, text := range []string{"", "{}", `{"ask":"take","move":"x","room":"match/..","block":0}`, `{"ask":"hand","move":"x","room":"match/2"}`, `{"ask":"take","move":"x","room":"match/2","sessions":-1}`} {
			require.Error(t, x.b.answerMove(ctx, []byte(text)), text)
		}
		require.NoError(t, x.a.drainRoom("match/1", time.Hour))
		require.Equal(t, wire.Draining, wire.CodeOf(x.a.moveRoom(ctx, "match/1", "b:2")))
		require.Empty(t, x.b.names())
	})
	h := newTestRooms(t, asIs)
	require.ErrorIs(t, h.moveRoom(context.Background(), "match/1", "b:2"), ErrNotClustered)
}

func FuzzMoveQuestion(f *testing.F) {
	f.Add(must.Get(json.Marshal(moveQuestion{Ask: askTake, Move: "x", Room: "match/1", By: byGame, Attributes: map[string]string{"mode": "ranked"}, Sessions: 3, Run: 7})))
	f.Add(must.Get(json.Marshal(moveQuestion{Ask: askHand, Move: "x", Room: "match/1", Run: 7, Block: 100, From: "a", Tick: 9, Journal: []byte("frames")})))
	f.Add([]byte(`{"ask":"drop"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := parseMoveQuestion(b)
		if err != nil {
			return
		}
		text := must.Get(json.Marshal(q))
		again := must.Get(parseMoveQuestion(text))
		require.Equal(t, text, must.Get(json.Marshal(again)))
	})
}
