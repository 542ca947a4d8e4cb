package session

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

type greeting struct{ Text string }

var (
	greetings = DefineRoomMessage[greeting]("greeting")
	numbers   = DefineRoomMessage[int]("greeting") // by mistake another type
)

// chattyRooms are rooms that note what they are told.
type chattyRooms struct {
	*testRooms
	heard map[string][]string // by room
}

// newChattyRooms makes rooms a, b and c, and deaf, whose game has no function for greetings.
func newChattyRooms(t *testing.T, change func(*Config)) *chattyRooms {
	h := &chattyRooms{heard: map[string][]string{}}
	h.testRooms = newTestRooms(t, func(c *RouterConfig) {
		c.Post = func(l Letter) {
			for name, to := range h.rooms {
				if name == l.To || l.To == "" && name != l.From && to.Listens(l.Name) {
					to.Deliver(l)
				}
			}
		}
	})
	h.change = func(c *Config) {
		if c.Room != "deaf" {
			c.Hooks.Told = []Told{OnTold(greetings, func(w *world.World, from string, m greeting) {
				h.heard[c.Room] = append(h.heard[c.Room], fmt.Sprintf("%s: %s at %d", from, m.Text, w.Tick()))
				if m.Text == "panic" {
					panic("a fault")
				}
			})}
		}
		change(c)
	}
	for _, name := range []string{"a", "b", "c", "deaf"} {
		h.add(name)
	}
	return h
}

func (h *chattyRooms) count(result LetterResult) uint64 { return h.router.Stats().Letters[result] }

// A message runs a function of the other room between two of its ticks, once, in the order of sending. An announcement reaches the other rooms
// whose games have a function for it.
func TestRoomsTellEachOther(t *testing.T) {
	h := newChattyRooms(t, func(*Config) {})
	require.NoError(t, h.rooms["a"].Tell("b", greetings.With(greeting{"one"})))
	require.NoError(t, h.rooms["a"].Announce("", greetings.With(greeting{"two"})))
	require.NoError(t, h.rooms["a"].Tell("b", greetings.With(greeting{"three"})))
	require.Empty(t, h.heard)
	h.rooms["b"].Tick()
	require.Equal(t, []string{"a: one at 0", "a: two at 0", "a: three at 0"}, h.heard["b"])
	h.tick(2)
	require.Equal(t, map[string][]string{"b": h.heard["b"], "c": {"a: two at 0"}}, h.heard)
	require.EqualValues(t, 4, h.count(LetterDelivered))
}

// With HoldOutput a message leaves once its frame is durable, and never if that fails (M3).
func TestMessageWaitsForItsFrame(t *testing.T) {
	h := newChattyRooms(t, func(c *Config) { c.HoldOutput = c.Room == "a" })
	a, b := h.rooms["a"], h.rooms["b"]
	tell := func(text string) {
		require.NoError(t, a.Tell("b", greetings.With(greeting{text})))
		a.Tick()
		b.Tick()
	}
	a.Tick()
	tell("two")
	tell("three")
	require.Empty(t, h.heard)
	a.Release(2)
	b.Tick()
	require.Equal(t, []string{"a: two at 2"}, h.heard["b"])
	a.Release(1) // late
	a.Abandon(&wire.Error{Code: wire.Internal})
	a.Release(math.MaxUint64)
	require.NoError(t, a.Tell("b", greetings.With(greeting{"four"})))
	b.Tick()
	require.Equal(t, []string{"a: two at 2"}, h.heard["b"])
	require.EqualValues(t, 2, h.count(LetterEnded))
}

// The messages that wait are bounded in number and in bytes, and so are a tick's (M4). Dropped messages are counted.
func TestMessagesAreBounded(t *testing.T) {
	h := newChattyRooms(t, func(*Config) {})
	a, b := h.rooms["a"], h.rooms["b"]
	for range maxLetters + 5 {
		require.NoError(t, a.Tell("b", greetings.With(greeting{"hi"})))
	}
	require.EqualValues(t, 5, h.count(LetterFull))
	b.Tick()
	require.Len(t, h.heard["b"], lettersPerTick)
	for range maxLetters / lettersPerTick {
		b.Tick()
	}
	require.Len(t, h.heard["b"], maxLetters)

	long := greetings.With(greeting{strings.Repeat("x", MaxRoomMessage-20)})
	for range maxLetterBytes/MaxRoomMessage + 3 {
		require.NoError(t, a.Tell("c", long))
	}
	require.EqualValues(t, 5+3, h.count(LetterFull), "of so many bytes")
	h.rooms["c"].Close()
	require.EqualValues(t, maxLetterBytes/MaxRoomMessage, h.count(LetterEnded))
	require.NoError(t, a.Tell("c", long))
	require.EqualValues(t, maxLetterBytes/MaxRoomMessage+1, h.count(LetterEnded))

	require.ErrorContains(t, a.Tell("b", greetings.With(greeting{strings.Repeat("x", MaxRoomMessage)})), "want at most 32768")
	require.ErrorContains(t, a.Tell("", greetings.With(greeting{})), "a room named")
	require.ErrorContains(t, a.Tell("b", DefineRoomMessage[float64]("rate").With(math.NaN())), `room message "rate"`)
	require.ErrorContains(t, a.Announce("", DefineRoomMessage[int]("").With(1)), "named")
	require.ErrorContains(t, Config{WorldConfig: WorldConfig{Hooks: Hooks{Told: []Told{OnTold[int](numbers, nil), OnTold(greetings, func(*world.World, string, greeting) {})}}}}.Validate(),
		`room message "greeting" has two functions`)
}

// Messages that a game cannot read are dropped and reported. A panic in a function ends nothing, and the next message follows.
func TestUnreadMessages(t *testing.T) {
	h := newChattyRooms(t, func(*Config) {})
	var unread []string
	for _, room := range []string{"b", "deaf"} {
		h.rooms[room].OnUnread(func(l Letter, err error) { unread = append(unread, fmt.Sprint(l.From, " to ", l.To, ": ", err)) })
	}
	a := h.rooms["a"]
	require.NoError(t, a.Tell("b", numbers.With(7)))
	require.NoError(t, a.Tell("b", DefineRoomMessage[struct{ Text, Tone string }]("greeting").With(struct{ Text, Tone string }{"panic", "of a newer version"})))
	require.NoError(t, a.Tell("b", greetings.With(greeting{"after"})))
	h.rooms["b"].Tick()
	require.Equal(t, []string{"a: panic at 0", "a: after at 0"}, h.heard["b"])
	require.NoError(t, a.Tell("deaf", greetings.With(greeting{"hello"})))
	h.rooms["deaf"].Tick()
	require.Equal(t, []string{"a to b: json: cannot unmarshal number into Go value of type session.greeting", "a to deaf: the game has no function for it in Hooks.Told"}, unread)
	require.EqualValues(t, 2, h.count(LetterUnread))
	require.EqualValues(t, 1, h.rooms["b"].Stats().Panics[HookTold])
}
