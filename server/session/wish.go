package session

import (
	"errors"
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// A client names the entities that a command or input would create by provisional handles,
// its wishes: in typed arguments and inputs they are the references for which IsWish is
// true. During the call the game may grant each of them an entity that it spawns. Wishes
// that were not granted when the call returns are rejected.

var (
	// ErrNotWished is Grant's error for a handle that is no wish of the command or input
	// being executed, or was granted before. It is the game's fault: ask IsWish first.
	ErrNotWished = errors.New("server: not a wish of this command or input, or granted before")
	// ErrNotNew is Grant's error for an entity that is not live, or that clients may have
	// received already. It is the game's fault: grant what the command or input has spawned.
	ErrNotNew = errors.New("server: a wish can only be granted a live entity that was just spawned")
)

// wish is a provisional handle of the command or input being executed.
type wish struct {
	index   uint32
	granted bool
}

// IsWish reports whether h is a provisional handle that the command or input being executed
// names, and that has no entity yet.
func (s *Session) IsWish(h bulk.Handle) bool { return s.wishOf(h) != nil }

// Wishes returns the handles for which IsWish is true, in the client's order. Raw commands
// need it if their arguments do not repeat the handles.
func (s *Session) Wishes() iter.Seq[bulk.Handle] {
	return func(yield func(bulk.Handle) bool) {
		for i := range s.wishes {
			if w := &s.wishes[i]; !w.granted && !yield(wire.ProvisionalHandle(w.index)) {
				return
			}
		}
	}
}

// Grant makes entity what the client's provisional handle wish stands for (H7). The client
// learns of it before the entity enters its view, and of its death even if it never enters.
// A granted wish stays granted if the command fails afterwards. The error is ErrNotWished or
// ErrNotNew.
func (s *Session) Grant(wish bulk.Handle, entity world.Entity) error {
	w := s.wishOf(wish)
	if w == nil {
		return ErrNotWished
	}
	if !s.viewer.Grant(w.index, entity) {
		return ErrNotNew
	}
	w.granted = true
	s.core.stats.WishesGranted++
	return nil
}

// wishOf returns the wish that h names, or nil if it is none or was granted.
func (s *Session) wishOf(h bulk.Handle) *wish {
	if s.viewer == nil || !wire.IsProvisional(h) {
		return nil
	}
	for i := range s.wishes {
		if w := &s.wishes[i]; w.index == h.Index() && !w.granted {
			return w
		}
	}
	return nil
}

// beginCommand makes the wishes of c those that the game may grant, and reports whether they
// are lawful: above all that earlier commands named.
func (s *Session) beginCommand(c *wire.Command) bool {
	if c.Wishes == 0 {
		return true
	}
	if c.Provisional < s.nextWish {
		return false
	}
	s.nextWish = c.Provisional + uint32(c.Wishes)
	for i := range uint32(c.Wishes) {
		s.wishes = append(s.wishes, wish{index: c.Provisional + i})
	}
	return true
}

// endCommand rejects the wishes of c that were not granted; its Result tells the client. It
// returns the number of the others, whose Answers precede the Result.
func (s *Session) endCommand(c *wire.Command) (granted int) {
	for _, w := range s.wishes {
		if w.granted {
			granted++
		}
	}
	s.wishes = s.wishes[:0]
	s.core.stats.WishesRejected += uint64(int(c.Wishes) - granted)
	return granted
}

// checkWishes reports whether every provisional handle in a command's arguments is one of
// its wishes.
func (s *Session) checkWishes(m *schema.Message, args *schema.Payload) bool {
	lawful := true
	m.References(args, func(h bulk.Handle) { lawful = lawful && (h.Valid() || s.IsWish(h)) })
	return lawful
}

// noteInputWishes makes the wishes of an input those that the game may grant. A client names
// a wish in several inputs, since some are lost: it belongs to the first that is applied, and
// is null in the others.
func (s *Session) noteInputWishes(m *schema.Message, input *schema.Payload) {
	next := s.nextInputWish
	m.KeepReferences(input, func(h bulk.Handle) bool {
		if h.Valid() {
			return true
		}
		if !wire.IsProvisional(h) || uint64(h.Index()) < next {
			return false
		}
		if !s.IsWish(h) {
			s.wishes = append(s.wishes, wish{index: h.Index()})
		}
		s.nextInputWish = max(s.nextInputWish, uint64(h.Index())+1)
		return true
	})
}

// endInput rejects the wishes of an input that were not granted.
func (s *Session) endInput() {
	for _, w := range s.wishes {
		if w.granted {
			continue
		}
		s.core.stats.WishesRejected++
		if s.viewer != nil {
			s.viewer.Reject(w.index)
		}
	}
	s.wishes = s.wishes[:0]
}
