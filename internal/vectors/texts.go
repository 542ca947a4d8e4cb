package vectors

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Send makes the client send a message of the form that the schema declares.
type Send struct {
	Command string   `json:"command,omitempty"` // name of the command; empty: an input
	ID      uint32   `json:"id,omitempty"`      // id of the Command
	Words   []uint32 `json:"words,omitempty"`   // all values of the fields
	Texts   [][]byte `json:"texts,omitempty"`   // the text fields
}

// Event is an event that the client delivered.
type Event struct {
	Tick  uint32   `json:"tick"`
	Name  string   `json:"event"`
	Words []uint32 `json:"words,omitempty"`
	Texts [][]byte `json:"texts,omitempty"`
}

// Result is the answer to a Command of a Send.
type Result struct {
	ID    uint32   `json:"id"`
	Code  string   `json:"code"`
	Words []uint32 `json:"words,omitempty"` // values of the answer
	Texts [][]byte `json:"texts,omitempty"`
}

// Components, messages and events of TextsSchema.
type (
	title struct {
		Rank uint8  `net:"bits=5"`
		Name string `net:"max=24"`
		Seal []byte `net:"max=130,owner"`
	}
	labels struct {
		L [30]string `net:"max=5"`
	}
	motto struct {
		Words string `net:"max=9"`
	}
	secret struct {
		Note string `net:"max=8,owner"`
	}
	question struct {
		Who   bulk.Handle `net:"ref"`
		Count int8        `net:"bits=5"`
		Words string      `net:"max=10"`
	}
	reply struct {
		Who   bulk.Handle `net:"ref"`
		Share float32     `net:"range=-1..1,step=1/512"`
		Words string      `net:"max=300"`
	}
	order struct {
		Fast bool
	}
	stick struct {
		At    bulk.Handle `net:"ref"`
		X     float32     `net:"range=-1..1,step=1/512"`
		Words string      `net:"max=8"`
	}
	chime struct { // reliable
		Serial uint16      `net:"bits=11"`
		Who    bulk.Handle `net:"ref"`
		Words  string      `net:"max=6"`
		Data   []byte      `net:"max=140"`
	}
	flash struct { // unreliable
		At    [3]float32 `net:"range=-64..64,step=1/64"`
		Words string     `net:"max=6"`
	}
	lateChime struct { // reliable
		Serial uint8
	}
	lateFlash struct { // unreliable
		Serial uint8
	}
)

// Component bits of TextsSchema in row masks.
const (
	TextsTitle = 1 << iota
	TextsLabels
	TextsMotto
	TextsPurse
	TextsSecret
)

// TextsSchema returns the schema of the cases about texts and messages of the game. It has
// enough text fields and events for numbers of 31 and above.
func TextsSchema() (*schema.Schema, error) {
	declared := schema.New()
	schema.Define[title](declared, "title")
	schema.Define[labels](declared, "labels")
	schema.Define[motto](declared, "motto")
	schema.Define[purse](declared, "purse")
	schema.Define[secret](declared, "secret")
	schema.DefineInput[stick](declared)
	schema.DefineQuery[question, reply](declared, "ask")
	schema.DefineCommand[order](declared, "go")
	schema.DefineEvent[chime](declared, "chime")
	schema.DefineUnreliableEvent[flash](declared, "flash")
	early, first := declared.Text(), len(declared.Events())
	schema.DefineEvent[lateChime](declared, "late-chime")
	schema.DefineUnreliableEvent[lateFlash](declared, "late-flash")
	if err := declared.Err(); err != nil {
		return nil, err
	}
	late := strings.TrimPrefix(declared.Text(), early)
	var empty strings.Builder // events without fields, which need no Go types
	for i := first; i < 31; i++ {
		fmt.Fprintf(&empty, "event e%d\n", i)
	}
	s, err := schema.Parse(early + empty.String() + late)
	if err != nil {
		return nil, err
	}
	_, err = s.Bind(declared)
	return s, err
}

// Components and events of TalkSchema.
type (
	identity struct {
		Value uint64 `net:"always"`
	}
	target struct {
		Handle bulk.Handle `net:"ref"`
	}
	coins struct {
		Coins int32 `net:"bits=20,owner"`
	}
	shout struct { // reliable
		Serial uint32
		Who    bulk.Handle `net:"ref"`
	}
	spark struct { // unreliable
		Serial uint32
		Who    bulk.Handle `net:"ref"`
	}
	tag struct {
		Name   string `net:"max=24"`
		Secret []byte `net:"max=24,owner"`
	}
)

// TalkSchema returns the schema of the simulation with texts and events.
func TalkSchema() (*schema.Schema, error) {
	s := schema.NewWithBody()
	schema.Define[identity](s, "identity")
	schema.Define[target](s, "target")
	schema.Define[coins](s, "purse")
	schema.DefineEvent[shout](s, "shout")
	schema.DefineUnreliableEvent[spark](s, "spark")
	schema.Define[tag](s, "tag")
	return s, s.Err()
}

// events returns functions for the events that the schema declares.
func (p *Player) events() *client.Events {
	e := &client.Events{}
	hear[chime](p, e)
	hear[flash](p, e)
	hear[lateChime](p, e)
	hear[lateFlash](p, e)
	hear[shout](p, e)
	hear[spark](p, e)
	return e
}

// hear records events of type T, if the schema declares T.
func hear[T any](p *Player, e *client.Events) {
	i, ok := p.declared.EventOf(reflect.TypeFor[T]())
	if !ok {
		return
	}
	client.OnEvent(e, schema.DefinedEvent[T]{}, func(tick uint32, event T) {
		heard := Event{Tick: tick, Name: p.declared.Events()[i].Name}
		heard.Words, heard.Texts = contents(p.messages.Events[i], event)
		p.heard = append(p.heard, heard)
	})
}

// contents returns the quantised fields and the texts of a message.
func contents(m *rowschema.Message, v any) (words []uint32, texts [][]byte) {
	var body rowschema.Payload
	if err := m.Quantise(v, &body); err != nil {
		panic(err) // v is of m's type
	}
	return append(words, body.Values...), bytesOf(body.Texts)
}

func bytesOf(texts []string) (all [][]byte) {
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

// asked is a command that a Send sent. answer is nil if the command has none.
type asked struct{ answer *rowschema.Message }

// result records the answer to a command that a Send sent.
func (p *Player) result(r client.Result) {
	a, ok := p.asked[r.ID]
	delete(p.asked, r.ID)
	if !ok || errors.Is(r.Err, client.ErrUnanswered) {
		return
	}
	got := Result{ID: r.ID, Code: wire.CodeOf(r.Err).String()}
	if r.Answer != nil {
		got.Words, got.Texts = contents(a.answer, r.Answer)
	}
	p.results = append(p.results, got)
}

// send sends a message and returns its bytes.
func (p *Player) send(s *Send) ([]byte, error) {
	body := rowschema.Payload{Values: s.Words}
	for _, text := range s.Texts {
		body.Texts = append(body.Texts, string(text))
	}
	if s.Command == "" {
		return p.sendInput(&body)
	}
	i, ok := p.declared.CommandByName(s.Command)
	if !ok {
		return nil, fmt.Errorf("vectors: the schema has no command %q", s.Command)
	}
	m := p.messages.Args[i]
	if err := p.takeNamed(m, &body); err != nil {
		return nil, err
	}
	args := reflect.New(m.Type())
	if err := m.Restore(&body, args.Interface()); err != nil {
		return nil, err
	}
	p.session.TakeStream()
	f, err := p.session.DoValue(0, args.Interface())
	if err != nil {
		return nil, err
	}
	if f.ID() != s.ID {
		return nil, fmt.Errorf("vectors: a command with id %d, want %d", f.ID(), s.ID)
	}
	p.asked[f.ID()] = asked{p.messages.Answers[i]}
	var frames wire.FrameReader
	frames.Feed(p.session.TakeStream())
	_, message, _, err := frames.Next()
	if err != nil {
		return nil, err
	}
	sent, err := wire.Parse[wire.Command](message)
	return sent.Args, err
}

// takeNamed takes the provisional handles that a message names.
func (p *Player) takeNamed(m *rowschema.Message, body *rowschema.Payload) (err error) {
	m.References(body, func(h bulk.Handle) {
		if wire.IsProvisional(h) {
			err = errors.Join(err, p.take(h))
		}
	})
	return err
}

func (p *Player) sendInput(body *rowschema.Payload) ([]byte, error) {
	m := p.messages.Input
	if err := p.takeNamed(m, body); err != nil {
		return nil, err
	}
	input := reflect.New(m.Type())
	if err := m.Restore(body, input.Interface()); err != nil {
		return nil, err
	}
	if _, err := p.session.SetInputValue(input.Interface(), 0); err != nil {
		return nil, err
	}
	var sent wire.Input
	if err := sent.Parse(p.session.Input(0)); err != nil || len(sent.Inputs) == 0 {
		return nil, fmt.Errorf("vectors: no input was sent: %w", err)
	}
	return slices.Clone(sent.Inputs[0].Data), nil // the session owns the datagram
}
