package session

import (
	"errors"
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// A client names the entities that a command or input would create by provisional handles. In
// typed arguments and inputs they are the references for which IsProvisional is true. During the
// call the game may bind each of them to an entity that it spawns. Those that are not bound when
// the call returns are rejected.

var (
	// ErrNotProvisional is Bind's error for a handle that is no provisional handle of the command
	// or input being executed, or was bound before. It is the game's fault: ask IsProvisional first.
	ErrNotProvisional = errors.New("server: not a provisional handle of this command or input, or bound before")
	// ErrNotNew is Bind's error for an entity that is not live, or that clients may have received
	// already. It is the game's fault: bind what the command or input has spawned.
	ErrNotNew = errors.New("server: a provisional handle can only be bound to a live entity that was just spawned")
)

// IsProvisional reports whether h is a provisional handle that the command or input being executed
// names, and that has no entity yet.
func (s *Session) IsProvisional(h bulk.Handle) bool {
	return s.viewer != nil && s.provisionals.findUnbound(h) != nil
}

// Provisionals returns the handles for which IsProvisional is true, in the client's order. Raw
// commands need it if their arguments do not repeat the handles.
func (s *Session) Provisionals() iter.Seq[bulk.Handle] { return s.provisionals.unbound() }

// Bind makes entity what the client's provisional handle stands for (H7). The client learns of it
// before the entity enters its view, and of its death even if it never enters. The handle stays
// bound if the command fails afterwards. The error is ErrNotProvisional or ErrNotNew.
func (s *Session) Bind(provisional bulk.Handle, entity world.Entity) error {
	p := s.provisionals.findUnbound(provisional)
	if p == nil || s.viewer == nil {
		return ErrNotProvisional
	}
	if !s.viewer.Bind(p.index, entity) {
		return ErrNotNew
	}
	p.bound = true
	s.core.stats.ProvisionalsBound++
	return nil
}

// endCommand rejects the provisional handles of c that were not bound; its Result tells the client.
// It returns the number of the bound ones, whose Answers precede the Result.
func (s *Session) endCommand(c *wire.Command) (bound int) {
	bound = s.provisionals.countBound()
	s.provisionals.clear()
	s.core.stats.ProvisionalsRejected += uint64(int(c.Provisionals) - bound)
	return bound
}

// checkProvisionals reports whether the command names every provisional handle in its arguments.
func (s *Session) checkProvisionals(m *rowschema.Message, args *rowschema.Payload) bool {
	lawful := true
	m.References(args, func(h bulk.Handle) { lawful = lawful && (h.Valid() || s.IsProvisional(h)) })
	return lawful
}

// endInput rejects the provisional handles of an input that were not bound.
func (s *Session) endInput() {
	for h := range s.provisionals.unbound() {
		s.core.stats.ProvisionalsRejected++
		if s.viewer != nil {
			s.viewer.Reject(h.Index())
		}
	}
	s.provisionals.clear()
}

// provisionals are the provisional handles of the command or input being executed. Their indexes
// ascend over the session, separately in commands and in inputs.
type provisionals struct {
	named         []provisional
	nextInCommand uint32 // lowest index that the next command may name
	nextInInput   uint64 // lowest index that is new in an input
}

// provisional is a provisional handle.
type provisional struct {
	index uint32
	bound bool
}

// findUnbound returns the entry of h, or nil if h is not named or was bound.
func (p *provisionals) findUnbound(h bulk.Handle) *provisional {
	if !wire.IsProvisional(h) {
		return nil
	}
	for i := range p.named {
		if x := &p.named[i]; x.index == h.Index() && !x.bound {
			return x
		}
	}
	return nil
}

// unbound returns the handles that have no entity yet, in the client's order.
func (p *provisionals) unbound() iter.Seq[bulk.Handle] {
	return func(yield func(bulk.Handle) bool) {
		for i := range p.named {
			if x := &p.named[i]; !x.bound && !yield(wire.ProvisionalHandle(x.index)) {
				return
			}
		}
	}
}

func (p *provisionals) countBound() (n int) {
	for _, x := range p.named {
		if x.bound {
			n++
		}
	}
	return n
}

// clear forgets the handles at the end of a command or input.
func (p *provisionals) clear() { p.named = p.named[:0] }

// nameInCommand makes the provisional handles of c those that the game may bind. It reports whether
// they are lawful: above all that earlier commands named.
func (p *provisionals) nameInCommand(c *wire.Command) bool {
	if c.Provisionals == 0 {
		return true
	}
	if c.FirstProvisional < p.nextInCommand {
		return false
	}
	p.nextInCommand = c.FirstProvisional + uint32(c.Provisionals)
	for i := range uint32(c.Provisionals) {
		p.named = append(p.named, provisional{index: c.FirstProvisional + i})
	}
	return true
}

// nameInInput makes the new provisional handles of an input those that the game may bind, and the
// others null. A client repeats a handle in several inputs, since some are lost: it belongs to the
// first that is applied.
func (p *provisionals) nameInInput(m *rowschema.Message, input *rowschema.Payload) {
	next := p.nextInInput
	m.KeepReferences(input, func(h bulk.Handle) bool {
		if h.Valid() {
			return true
		}
		if !wire.IsProvisional(h) || uint64(h.Index()) < next {
			return false
		}
		if p.findUnbound(h) == nil {
			p.named = append(p.named, provisional{index: h.Index()})
		}
		p.nextInInput = max(p.nextInInput, uint64(h.Index())+1)
		return true
	})
}
