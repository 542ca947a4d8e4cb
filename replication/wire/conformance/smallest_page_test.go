package conformance

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	worlds "github.com/worldd/worldd/world" // world is a function of this package
)

// spot is the component of the example in PROTOCOL.md.
type spot struct {
	X      float32 `net:"range=-64..64,step=1/16"`
	Health uint8   `net:"bits=7"`
}

// smallestSession is the beginning of a session with plain rows.
type smallestSession struct {
	t          testing.TB
	messages   map[string][]byte // frames and datagrams by name
	components []pageComponent
	tenants    map[uint32]pageTenant
	records    uint32
}

// newSmallestSession plays a session until a row has changed.
func newSmallestSession(t testing.TB) *smallestSession {
	w := stage.NewCrates(worlds.Config{Seed: 1})
	spots := must.Get(worlds.Register[spot](w.World, "spot"))
	crate := w.Put(3, 0)
	spots.Set(crate, spot{X: 3, Health: 100})
	s := schema.New()
	schema.Define[spot](s, "spot")
	core := must.Get(session.NewCore(session.Config{
		Random: stage.Random(1),
		WorldConfig: session.WorldConfig{World: w.World, Schema: s, Epoch: 7, Hooks: session.Hooks{Join: func(*session.Session) (worlds.Entity, error) {
			e := w.Put(0, 0)
			spots.Set(e, spot{Health: 50})
			return e, nil
		}}},
	}))
	x := &smallestSession{t: t, messages: map[string][]byte{}, components: parseSchemaText(t, core.Config().Schema.Text()), tenants: map[uint32]pageTenant{}}
	keep := func(name string, b []byte) {
		if x.messages[name] == nil {
			x.messages[name] = b
		}
	}
	conn := &stage.Conn{}
	conn.OnMessage = func(kind byte, body []byte) {
		name := map[byte]string{wire.TypeWelcome: "Welcome", wire.TypeControl: "Control", wire.TypeStructure: "Structure"}[kind]
		keep(name, wire.AppendFrame(nil, kind, body))
	}
	conn.OnSnapshot = func(datagrams [][]byte) {
		if h := must.Get(wire.ParseStateHeader(datagrams[0], &bitio.Reader{})); h.Rows > 0 {
			keep("State", slices.Clone(datagrams[0]))
		}
	}
	conn.Peer = core.Open(context.Background(), "", conn)
	hello := wire.Hello{Protocol: wire.Version, Name: "ada", Abilities: wire.PlainRows}
	keep("Hello", wire.AppendMessage(nil, hello))
	require.NoError(t, conn.Send(hello))
	for range 60 {
		core.Tick()
		if conn.Newest > 0 {
			require.NoError(t, conn.SendInput(conn.Ack()))
		}
		if x.messages["Structure"] != nil && x.messages["State"] == nil {
			spots.Mut(crate).X += 0.5
		}
	}
	input := wire.Input{Stamp: 12_345, Ack: conn.Ack()}
	h := must.Get(wire.ParseStateHeader(x.messages["State"], &bitio.Reader{}))
	input.Ack.Newest, input.Ack.Mask = h.Seq, 1<<(h.Seq-1)-1
	keep("Input", input.Append(nil))
	return x
}

// annotate returns the bytes of a message, and what the decoder of the page reads in them.
func (x *smallestSession) annotate(name string) string {
	d := &pageDecoder{b: x.messages[name]}
	frame := func() {
		d.uvarint("length")
		d.readNamed(8, "type")
	}
	switch name {
	case "State":
		rows := d.state(x.components, nil, x.tenants)
		require.NotEmpty(x.t, rows)
	case "Input":
		d.input()
	case "Structure":
		frame()
		for i, r := range d.structure(x.components).Records {
			x.records = uint32(i + 1)
			x.tenants[r.Handle.Index()] = pageTenant{handle: r.Handle, mask: 1}
		}
	default:
		frame()
		d.message(messageTable(x.t)[d.b[d.bit/8-1]], false)
	}
	return notesBeside(d)
}

var noteForm = regexp.MustCompile(`^(byte|bit) (\d+) +(\d+) +bits  (.*)$`)

// notesBeside returns a decoder's notes, each beside its bytes, or in a bit string beside its bits.
func notesBeside(d *pageDecoder) string {
	const column = 27
	var b strings.Builder
	line := func(left, right string) { fmt.Fprintf(&b, "    %-*s %s\n", column, left, right) }
	inBits := false
	for i, note := range d.notes {
		m := noteForm.FindStringSubmatch(note)
		from, bits := must.Get(strconv.Atoi(m[2])), must.Get(strconv.Atoi(m[3]))
		text := m[4]
		if len(text) > 60 {
			text = text[:57] + `..."`
		}
		if m[1] == "byte" {
			from *= 8
		}
		if m[1] == "byte" && !inBits {
			line(hexOf(d.b[from/8:(from+bits)/8]), text)
			continue
		}
		if !inBits {
			end := len(d.b)
			for _, later := range d.notes[i:] {
				if m := noteForm.FindStringSubmatch(later); m[1] == "byte" && strings.HasPrefix(m[4], "op and") {
					end = must.Get(strconv.Atoi(m[2]))
					break
				}
			}
			line(hexOf(d.b[from/8:end]), fmt.Sprintf("a bit string of %d bytes:", end-from/8))
			inBits = true
		}
		if m[1] == "byte" && strings.HasPrefix(m[4], "op and") {
			inBits = false
			line(hexOf(d.b[from/8:(from+bits)/8]), text)
			continue
		}
		line(fmt.Sprintf("  bits: %d", bits), text)
	}
	return b.String()
}

// hexOf returns bytes in hexadecimal, and of many the first.
func hexOf(b []byte) string {
	if len(b) > 9 {
		return fmt.Sprintf("% x ..", b[:8])
	}
	return fmt.Sprintf("% x", b)
}

// The annotated bytes in PROTOCOL.md are of a session that this server has with a client.
func TestSmallestExample(t *testing.T) {
	const page, begin, end = "../PROTOCOL.md", "<!-- TestSmallestExample -update writes from here -->\n", "<!-- to here -->\n"
	x := newSmallestSession(t)
	var made strings.Builder
	for _, m := range []struct{ name, about string }{
		{"Hello", "The client's frame with Hello:"},
		{"Welcome", "The server's, with Welcome:"},
		{"Control", "Control names the client's entity:"},
		{"Structure", "Structure with two Enters, in the same tick:"},
		{"State", "A State datagram, after one of them has moved:"},
		{"Input", "The Input datagram that acknowledges it:"},
	} {
		fmt.Fprintf(&made, "%s\n\n%s\n", m.about, x.annotate(m.name))
	}
	text := string(must.Get(os.ReadFile(page)))
	before, rest, found := strings.Cut(text, begin)
	require.True(t, found)
	kept, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+"\n"+made.String()+end+after), 0o644))
		kept = "\n" + made.String()
	}
	require.Equal(t, "\n"+made.String(), kept, "write it with go test -run TestSmallestExample -update")
}
