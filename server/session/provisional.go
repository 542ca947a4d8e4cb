package session

import (
	"errors"
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// A client names the entities that a command or input would create by provisional handles.
// In typed arguments and inputs, they are the references for which IsProvisional is true.
// During the call, the game may bind each provisional handle to an entity that it spawns.
// The server rejects the handles that are not bound when the call returns.

var (
	// ErrNotProvisional is Bind's error for a handle that is not a provisional handle of
	// the command or input being executed, or was bound before. The game is at fault: it
	// should ask IsProvisional first.
	ErrNotProvisional = errors.New("server: not a provisional handle of this command or input, or bound before")
	// ErrNotNew is Bind's error for an entity that is not live, or that clients may have
	// received already. It is the game's fault: bind an entity that the command or input
	// has spawned.
	ErrNotNew = errors.New("server: a provisional handle can only be bound to a live entity that was just spawned")
)

// IsProvisional reports whether h is an unbound provisional handle of the command or input
// being executed.
func (s *sight) IsProvisional(h bulk.Handle) bool {
	return s.viewer != nil && s.provisionals.findUnbound(h) != nil
}

// Provisionals returns the handles for which IsProvisional is true, in the client's order.
// Raw commands need it, if their arguments do not contain the handles.
func (s *sight) Provisionals() iter.Seq[bulk.Handle] { return s.provisionals.unbound() }

// Bind makes the client's provisional handle stand for entity (H7). The client learns of
// this before the entity enters its view, and learns of the entity's death even if it never
// enters. The handle stays bound if the command fails later. The error is ErrNotProvisional
// or ErrNotNew.
func (s *sight) Bind(provisional bulk.Handle, entity world.Entity) error {
	p := s.provisionals.findUnbound(provisional)
	if p == nil || s.viewer == nil {
		return ErrNotProvisional
	}
	if !s.viewer.Bind(p.index, entity) {
		return ErrNotNew
	}
	s.provisionals.markBound(p)
	s.stats.ProvisionalsBound++
	return nil
}

// endInput rejects the unbound provisional handles of an input.
func (s *sight) endInput() {
	for h := range s.provisionals.unbound() {
		s.stats.ProvisionalsRejected++
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

// continueFrom sets the lowest indexes that are new.
func (p *provisionals) continueFrom(inCommand uint32, inInput uint64) {
	p.nextInCommand, p.nextInInput = inCommand, inInput
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

// markBound records that the game has bound a provisional handle.
func (p *provisionals) markBound(h *provisional) { h.bound = true }

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

// endCommand forgets the provisional handles of a command, and returns how many the game bound. The
// Answers for bound handles precede the Result, which rejects the rest.
func (p *provisionals) endCommand() (bound int) {
	for _, x := range p.named {
		if x.bound {
			bound++
		}
	}
	p.clear()
	return bound
}

// readArgs reads the arguments of a command. The command must name every provisional handle
// among them: the game would otherwise take the handle for an entity that the client
// creates.
func (p *provisionals) readArgs(m *rowschema.Message, data []byte, args any) error {
	var body rowschema.Payload
	if m.Parse(data, &body) != nil || !p.nameAll(m, &body) || m.Restore(&body, args) != nil {
		return errBadArguments
	}
	return nil
}

// nameAll reports whether the command names every provisional handle in its arguments.
func (p *provisionals) nameAll(m *rowschema.Message, args *rowschema.Payload) bool {
	lawful := true
	m.References(args, func(h bulk.Handle) { lawful = lawful && (h.Valid() || p.findUnbound(h) != nil) })
	return lawful
}

// clear forgets the handles at the end of a command or input.
func (p *provisionals) clear() { p.named = p.named[:0] }

// nameInCommand lets the game bind the provisional handles of c. It reports whether their
// indexes are valid: above the indexes of all earlier commands.
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

// nameInInput lets the game bind the new provisional handles of an input, and makes all
// others null. A client repeats a handle in several inputs, because inputs may be lost: the
// handle belongs to the first applied input.
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
