package bot

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/wire"
)

// probe resolves handles of every kind and compares the answers with memory.
func (b *bot) probe() {
	replica := b.client.Replica()
	for i := range probesPerUpdate {
		h := b.choose(i)
		a := answer{verdict: replica.Resolve(h)}
		if e := replica.Entity(h); e != nil {
			a.present, a.handle, a.identity = true, e.Handle(), b.identityOf(e)
		}
		b.count(a.verdict)
		b.oracle.checkProbe(h, a)
	}
}

func (b *bot) count(v wire.Verdict) {
	b.handles.Probes++
	switch v {
	case wire.Live:
		b.handles.Live++
	case wire.Hidden:
		b.handles.Hidden++
	case wire.Pending:
		b.handles.Pending++
	case wire.Stale:
		b.handles.Stale++
	}
}

// choose picks the handle for the next question, in rotation: two each that are shown,
// hidden and destroyed, one forged, and one that may be issued next.
func (b *bot) choose(question int) bulk.Handle {
	dice := b.rng.IntN
	h := b.oracle.draw(status(question%4), dice)
	if h == 0 { // none of that fate: take any
		h = b.oracle.draw(statusUnknown, dice)
	}
	switch {
	case question%8 == 0 || h == 0:
		return forge(b.rng, b.oracle.slots)
	case question%8 == 4:
		return neighbour(h)
	}
	return h
}

// draw returns a random remembered handle with that fate, or with any for statusUnknown.
// It is 0 if there is none, or if the draws missed.
func (o *oracle) draw(want status, dice func(int) int) bulk.Handle {
	if len(o.known) == 0 {
		return 0
	}
	for range searches {
		m := &o.known[dice(len(o.known))]
		if want == statusUnknown || (m.status == want || want == statusDestroyed) && o.fate(m) == want {
			return m.handle
		}
	}
	return 0
}

// forge returns a made-up handle: any 64 bits, or the shape of real ones, with low
// generations as likely as high ones.
func forge(dice *rand.Rand, slots uint32) bulk.Handle {
	if dice.IntN(4) == 0 {
		return bulk.Handle(dice.Uint64())
	}
	return bulk.NewHandle(dice.Uint32N(max(slots, 1)), 2*dice.Uint32N(1<<dice.UintN(17))+1)
}

// neighbour returns the handle of the next tenant in h's slot, known or not.
func neighbour(h bulk.Handle) bulk.Handle {
	return bulk.NewHandle(h.Index(), h.Generation()+2)
}

// poke sends the next command if it is due.
func (b *bot) poke(now time.Time) error {
	if b.client.State() != client.Joined || b.config.Scenario == Idle || now.Before(b.nextPoke) || len(b.unanswered) >= maxUnanswered {
		return nil
	}
	b.nextPoke = now.Add(time.Second / pokesPerSecond)
	b.poked++
	h := b.choose(b.poked)
	if taught := b.oracle.taught.draw(b.rng.IntN); b.poked%8 == 6 && taught != 0 {
		h = taught
	}
	var args []byte
	if m := b.oracle.find(h); m != nil && m.identity != 0 {
		args = pokeArgs(m.identity)
	}
	asked, err := b.client.DoRaw(messages.PokeCommand, h, args)
	if err != nil {
		return err
	}
	b.unanswered[asked.ID()] = h
	b.oracle.poked.add(h)
	b.handles.CommandsSent++
	return nil
}

// rename gives the bot's avatar the next name if it is due. It needs the avatar's identity.
func (b *bot) rename(now time.Time) error {
	avatar := b.client.Controlled()
	m := b.oracle.find(avatar)
	if b.config.Scenario == Idle || b.oracle.fate(m) != statusShown || m.identity == 0 || now.Before(b.nextRename) || len(b.unanswered) >= maxUnanswered {
		return nil
	}
	if b.nextRename.IsZero() {
		b.nextRename = now.Add(time.Duration(b.rng.Int64N(int64(firstRename))))
		return nil
	}
	b.nextRename = now.Add(time.Duration((0.5 + b.rng.Float64()) * renameSeconds * float64(time.Second)))
	name := sealedName(b.number, b.oracle.renamed+1, m.identity)
	asked, err := client.Ask(b.client, messages.RenameCommand, 0, messages.Rename{Name: name})
	if err != nil {
		return err
	}
	b.oracle.avatar, b.oracle.renamed = avatar, b.oracle.renamed+1
	b.unanswered[asked.ID()], b.renaming[asked.ID()] = 0, name
	b.handles.CommandsSent++
	return nil
}

// renamed handles the answer to a rename (B11).
func (b *bot) renamed(r client.Result, name string) {
	answer, ok := r.Answer.(messages.Renamed)
	switch code := wire.CodeOf(r.Err); {
	case ok:
		b.oracle.checkRenamed(answer, name, b.oracle.avatar)
	case code != wire.RateLimited:
		b.oracle.confuse(r.Target, 0, "B11: renamed to %q, and the answer is %v: %v", name, code, r.Err)
	}
}

func (b *bot) result(r client.Result) {
	if r.Err == client.ErrUnanswered {
		b.lostResult(r)
		return
	}
	h, ok := b.unanswered[r.ID]
	if !ok || h != r.Target {
		b.oracle.confuse(r.Target, 0, "B5: answer %d names it, but the command named %v", r.ID, h)
		return
	}
	delete(b.unanswered, r.ID)
	code := wire.CodeOf(r.Err)
	if code == wire.OK {
		b.handles.CommandsExecuted++
	} else {
		b.handles.CommandsRejected++
	}
	if name, ok := b.renaming[r.ID]; ok {
		delete(b.renaming, r.ID)
		b.renamed(r, name)
		return
	}
	if b.combatResult(r) {
		return
	}
	b.oracle.learn(b.client.Controlled()) // a Control named it
	b.oracle.checkAnswer(h, code, r.Verdict)
}

// pokeArgs is the argument of a poke: the identity that the bot expects of its target,
// as a msgpack uint64 (0xcf and 8 bytes, big-endian), for the server to compare.
func pokeArgs(identity uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{0xcf}, identity)
}
