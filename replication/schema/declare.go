package schema

import (
	"fmt"
	"math"
	"reflect"
	"unicode/utf8"

	"github.com/worldd/worldd/replication/wire"
)

// MaxPath bounds the path of a field, in bytes. Package wire has the other limits.
const MaxPath = 256

// declarations are a schema's declarations other than components.
type declarations struct {
	kinds    []EntityKind
	motion   *Motion
	input    *Message // nil: raw
	commands []Command
	events   []Event

	definedKinds []string // names given to DefineKind
	mistakes     []error  // errors of the Define functions

	named       map[string]bool // kinds, commands and events by section and name
	eventOfType map[reflect.Type]int
	size        int // bytes of Text without its header and rawInput
	textBytes   int // maximum size of all text fields of components
}

// EntityKind is a kind of entity in the server's world. An Enter names its kind by
// number.
type EntityKind struct {
	Name string
	Body *KindBody // nil: entities of the kind have no body
}

// KindBody holds the motion constants of the bodies of a kind. They are finite and not
// negative.
type KindBody struct {
	InvMass     float32 // 1/kg; 0 for a kinematic body
	Coupling    float32 // share of the velocity difference to the wind that one tick removes, 0 to 1
	Radius      float32 // metres
	Friction    float32 // Coulomb's coefficient on the ground
	Restitution float32 // share of the impact speed that a bounce keeps, 0 to 1
	Layers      uint32  // bitmap of the kind's layers
}

// Motion holds the world's constants of motion. Its floats are finite and not negative.
type Motion struct {
	TickHz       uint16  // ticks a second, at least 1
	Gravity      float32 // m/s2 downwards
	MaxSpeed     float32 // m/s
	HalfX, HalfZ float32 // metres; bodies stay within +-HalfX and +-HalfZ
	Height       float32 // metres; bodies stay between 0 and Height
	RestSpeed    float32 // m/s up to which a body rests
	RestTicks    uint32  // ticks of rest after which a body may sleep
	Bounds       Bounds  // treatment of bodies that reach the bounds of the world
}

// Bounds is the treatment of a body that moves out of the world.
type Bounds uint8

// Bounds, numbered as in package motion.
const (
	BoundsClamp Bounds = iota
	BoundsBounce
	BoundsDestroy
)

var boundsNames = [...]string{"clamp", "bounce", "destroy"}

// String is "clamp", "bounce" or "destroy".
func (b Bounds) String() string {
	if int(b) < len(boundsNames) {
		return boundsNames[b]
	}
	return fmt.Sprintf("bounds(%d)", uint8(b))
}

// Command is a command that clients may send.
type Command struct {
	Name   string
	Args   *Message // nil: raw, any msgpack value
	Answer *Message // nil: a Result without an answer
}

// Event is an event that the server may send.
type Event struct {
	Name       string
	Unreliable bool // sent in a datagram once, or dropped
	Message    *Message
}

// addEventType declares an event of the struct type t. An error leaves s unchanged.
func (s *Schema) addEventType(name string, t reflect.Type, unreliable bool) error {
	m, err := planMessage("event "+name, fromServer, t)
	if err != nil {
		return err
	}
	return s.addEvent(Event{name, unreliable, m})
}

func (s *Schema) addEvent(e Event) error {
	if err := s.checkDeclared("event", e.Name, len(s.events), wire.MaxEvents); err != nil {
		return err
	}
	if i, taken := s.eventOfType[e.Message.Type]; taken && e.Message.Type != nil {
		return fmt.Errorf("schema: event %q: %v is event %q already: give it a type of its own", e.Name, e.Message.Type, s.events[i].Name)
	}
	if err := s.admitText("event", e.Name, e.appendText(nil)); err != nil {
		return err
	}
	s.take("event", e.Name)
	s.bindEvent(len(s.events), e.Message.Type)
	s.events = append(s.events, e)
	return nil
}

// bindEvent makes t the type of event i, unless it is nil.
func (s *Schema) bindEvent(i int, t reflect.Type) {
	if t == nil {
		return
	}
	if s.eventOfType == nil {
		s.eventOfType = map[reflect.Type]int{}
	}
	s.eventOfType[t] = i
}

// AddRawCommand declares a command whose arguments are any msgpack value, or none. Servers
// call it for raw commands, which the game does not define.
func (s *Schema) AddRawCommand(name string) error { return s.addCommand(Command{Name: name}) }

// addCommandType declares a command with arguments of the struct type args, and an answer
// of the struct type answer unless that is nil. An error leaves s unchanged.
func (s *Schema) addCommandType(name string, args, answer reflect.Type) error {
	c := Command{Name: name}
	var err error
	if c.Args, err = planMessage("command "+name, fromClient, args); err != nil {
		return err
	}
	if answer != nil {
		if c.Answer, err = planMessage("answer of command "+name, fromServer, answer); err != nil {
			return err
		}
	}
	return s.addCommand(c)
}

func (s *Schema) addCommand(c Command) error {
	if err := s.checkDeclared("command", c.Name, len(s.commands), wire.MaxCommands); err != nil {
		return err
	}
	if c.Args != nil && c.Args.Type != nil {
		if i, taken := s.CommandOf(c.Args.Type); taken {
			return fmt.Errorf("schema: command %q: %v has the arguments of command %q already: give it a type of its own", c.Name, c.Args.Type, s.commands[i].Name)
		}
	}
	if err := s.admitText("command", c.Name, c.appendText(nil)); err != nil {
		return err
	}
	s.take("command", c.Name)
	s.commands = append(s.commands, c)
	return nil
}

// setInputType declares that inputs are of the struct type t. An error leaves s unchanged.
func (s *Schema) setInputType(t reflect.Type) error {
	m, err := planMessage("input", ofInput, t)
	if err != nil {
		return err
	}
	return s.setInput(m)
}

func (s *Schema) setInput(m *Message) error {
	if s.input != nil {
		return fmt.Errorf("schema: the input is declared twice")
	}
	s.input = m
	if err := s.admitText("input", "", appendInput(nil, m)); err != nil {
		s.input = nil
		return err
	}
	return nil
}

// AddKind declares the next kind of entity: kinds are numbered from 0. A server declares
// its world's kinds.
func (s *Schema) AddKind(k EntityKind) error {
	if err := s.checkDeclared("kind", k.Name, len(s.kinds), wire.MaxKinds); err != nil {
		return err
	}
	if k.Body != nil {
		body := *k.Body
		k.Body = &body
		if err := body.check(); err != nil {
			return fmt.Errorf("schema: kind %q: %w", k.Name, err)
		}
	}
	if err := s.admitText("kind", k.Name, k.appendText(nil)); err != nil {
		return err
	}
	s.take("kind", k.Name)
	s.kinds = append(s.kinds, k)
	return nil
}

func (b *KindBody) check() error {
	for _, x := range b.floats() {
		if err := checkConstant(*x); err != nil {
			return err
		}
	}
	if b.Coupling > 1 || b.Restitution > 1 {
		return fmt.Errorf("coupling is %v and restitution %v: want 0 to 1", b.Coupling, b.Restitution)
	}
	return nil
}

// floats returns the floats in the order of the text.
func (b *KindBody) floats() [5]*float32 {
	return [...]*float32{&b.InvMass, &b.Coupling, &b.Radius, &b.Friction, &b.Restitution}
}

// SetMotion declares how the server's world moves bodies.
func (s *Schema) SetMotion(m Motion) error {
	if s.motion != nil {
		return fmt.Errorf("schema: motion is declared twice")
	}
	if err := m.check(); err != nil {
		return fmt.Errorf("schema: motion: %w", err)
	}
	if err := s.admitText("motion", "", m.appendText(nil)); err != nil {
		return err
	}
	s.motion = &m
	return nil
}

func (m *Motion) check() error {
	if m.TickHz == 0 || m.Bounds > BoundsDestroy {
		return fmt.Errorf("%d ticks a second, %v: want 1 to 65535, and clamp, bounce or destroy", m.TickHz, m.Bounds)
	}
	for _, x := range m.floats() {
		if err := checkConstant(*x); err != nil {
			return err
		}
	}
	return nil
}

// floats returns the floats in the order of the text.
func (m *Motion) floats() [6]*float32 {
	return [...]*float32{&m.Gravity, &m.MaxSpeed, &m.HalfX, &m.Height, &m.HalfZ, &m.RestSpeed}
}

func checkConstant(x float32) error {
	if !(x >= 0 && x <= math.MaxFloat32) || math.Signbit(float64(x)) {
		return fmt.Errorf("constant %v: want a finite number that is not negative, nor -0", x)
	}
	return nil
}

// Kinds returns the kinds of entities by their numbers. The slice is the schema's: do not change it.
func (s *Schema) Kinds() []EntityKind { return s.kinds }

// Motion returns the constants given to SetMotion.
func (s *Schema) Motion() (m Motion, ok bool) {
	if s.motion == nil {
		return Motion{}, false
	}
	return *s.motion, true
}

// Input returns the type of inputs, or nil if they are raw bytes.
func (s *Schema) Input() *Message { return s.input }

// Commands returns the commands in the order of their definition, which numbers them from 0. The
// slice is the schema's: do not change it.
func (s *Schema) Commands() []Command { return s.commands }

// CommandByName returns the number of the command with this name.
func (s *Schema) CommandByName(name string) (int, bool) {
	return indexOf(s.commands, func(c *Command) bool { return c.Name == name })
}

// CommandOf returns the number of the command whose arguments have the struct type args.
func (s *Schema) CommandOf(args reflect.Type) (int, bool) {
	return indexOf(s.commands, func(c *Command) bool { return c.Args != nil && c.Args.Type != nil && c.Args.Type == args })
}

// Events returns the events in the order of their definition, which numbers them from 0. The slice
// is the schema's: do not change it.
func (s *Schema) Events() []Event { return s.events }

// eventByName returns the number of the event with this name.
func (s *Schema) eventByName(name string) (int, bool) {
	return indexOf(s.events, func(e *Event) bool { return e.Name == name })
}

// EventOf returns the number of the event that has the struct type t.
func (s *Schema) EventOf(t reflect.Type) (int, bool) {
	i, ok := s.eventOfType[t]
	return i, ok
}

func indexOf[E any](all []E, is func(*E) bool) (int, bool) {
	for i := range all {
		if is(&all[i]) {
			return i, true
		}
	}
	return 0, false
}

// checkName returns an error unless name is 1 to wire.MaxName bytes of UTF-8 without spaces
// and control characters (code points up to U+0020, and U+007F to U+00A0). This keeps the
// words of a schema's text separable and printable.
func checkName(what, name string) error {
	if len(name) > wire.MaxName || !isWord(name) {
		return fmt.Errorf("schema: %s name %.64q: want 1 to %d bytes of printable UTF-8 without spaces", what, name, wire.MaxName)
	}
	return nil
}

// isWord reports whether s is UTF-8 without spaces and control characters, and not empty.
func isWord(s string) bool {
	for _, r := range s {
		if r <= ' ' || r >= 0x7f && r <= 0xa0 {
			return false
		}
	}
	return s != "" && utf8.ValidString(s)
}

// checkDeclared returns an error if an item of this name cannot be added to a section,
// which has have items and may have most.
func (s *Schema) checkDeclared(section, name string, have, most int) error {
	if err := checkName(section, name); err != nil {
		return err
	}
	if s.named[section+" "+name] {
		return fmt.Errorf("schema: %s %q is added twice", section, name)
	}
	if have == most {
		return fmt.Errorf("schema: %s %q is one more than a schema's %d", section, name, most)
	}
	return nil
}

// take records that a section has an item of that name.
func (s *Schema) take(section, name string) {
	if s.named == nil {
		s.named = map[string]bool{}
	}
	s.named[section+" "+name] = true
}

// admitText counts the lines of a new item towards wire.MaxSchemaText. Call it as the last
// check of the item.
func (s *Schema) admitText(section, name string, lines []byte) error {
	if size := s.textSize() + len(lines); size > wire.MaxSchemaText {
		return fmt.Errorf("schema: with %s %q the schema's text is %d bytes, at most %d are allowed: shorten names, or declare less", section, name, size, wire.MaxSchemaText)
	}
	s.size += len(lines)
	return nil
}
