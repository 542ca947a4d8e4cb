package simulation

import (
	"fmt"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
)

// In some seeds, entities have names that change. Only scripts with renames register Tag:
// all others keep the schema of the conformance vectors.

// Tag holds texts that begin with the entity's identity. Secret is sent to owners only.
type Tag struct {
	Name   string `net:"max=24"`
	Secret []byte `net:"max=24,owner"`
}

// tagOf returns a new tag for an entity.
func (s *sim) tagOf(identity uint64) Tag {
	return Tag{fmt.Sprintf("%x-%d", identity, s.tick), fmt.Appendf(nil, "%x?%d", identity, s.tick)}
}

// rename changes one of the texts of h, removes its Tag, or adds one.
func (s *sim) rename(h bulk.Handle, which int) {
	l := s.lives[h]
	if l == nil {
		return
	}
	fresh := s.tagOf(l.identity)
	switch t := s.tag.Mut(h); {
	case t == nil:
		s.tag.Set(h, fresh)
	case nth(which, 8) == 0:
		s.tag.Remove(h)
	case nth(which, 8) < 4:
		t.Secret = fresh.Secret
	default:
		t.Name = fresh.Name
	}
	s.coverage.renames++
}

// names renames entities in some seeds.
func (g *generator) names() {
	if d := g.rng.IntN; d(3) == 0 && !g.s.has("ride") {
		g.often([]int{3, 30, 90}[d(3)], "rename", func() []int { return []int{g.any(), g.any()} })
	}
}

// checkNames checks that each entity of a client has its own texts.
func (c *simClient) checkNames(e *client.Entity, l *life) {
	s := c.sim
	if s.tag == nil || c.misled {
		return
	}
	texts := c.session.Replica().AppendTexts(nil, e)
	for i, prefix := range []string{fmt.Sprintf("%x-", l.identity), fmt.Sprintf("%x?", l.identity)} {
		if texts[i] != "" && !strings.HasPrefix(texts[i], prefix) {
			s.fail("H1", "client %d has %v with the text %q of another entity", c.number, l.handle, texts[i])
		}
	}
	if texts[1] != "" && !e.Owned() {
		s.fail("R7", "client %d has the secret %q of %v, which it does not own", c.number, texts[1], l.handle)
	}
}

// lacksNames reports whether a settled client has other texts of e than the world.
func (c *simClient) lacksNames(e *client.Entity, owns bool) bool {
	s := c.sim
	if s.tag == nil || c.misled {
		return false
	}
	var want Tag
	if t := s.tag.Get(e.Handle()); t != nil {
		want = *t
	}
	if !owns {
		want.Secret = nil
	}
	texts := c.session.Replica().AppendTexts(nil, e)
	return texts[0] != want.Name || texts[1] != string(want.Secret)
}
