package vectors

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
)

// Provisional makes the client name provisional handles.
type Provisional struct {
	// Handles are provisional handles that no earlier command may have named. Inputs may
	// have named them.
	Handles []bulk.Handle `json:"handles"`
	Command uint32        `json:"command,omitempty"` // id of the Command that names them; 0: none
	Input   uint32        `json:"input,omitempty"`   // tick of the input that names the single handle; 0: none
}

// aimed is the input of ProvisionalSchema.
type aimed struct {
	At bulk.Handle `net:"ref"`
}

// ProvisionalSchema returns the schema of the cases in which the client names provisional handles.
func ProvisionalSchema() (*schema.Schema, error) {
	s := schema.New()
	schema.Define[purse](s, "purse")
	schema.DefineInput[aimed](s)
	return s, s.Err()
}

// name executes w, and sets its id or tick to the client's.
func (p *Player) name(w *Provisional) error {
	for _, h := range w.Handles {
		if err := p.take(h); err != nil {
			return err
		}
	}
	if w.Command != 0 {
		f, err := p.session.DoRaw("name", 0, nil, w.Handles...)
		if err == nil && f.ID() != w.Command {
			err = fmt.Errorf("vectors: a command with id %d, want %d", f.ID(), w.Command)
		}
		return err
	}
	tick, err := p.session.SetInputValue(&aimed{w.Handles[0]}, 0)
	if w.Input == 0 {
		w.Input = tick
	}
	if err == nil && tick != w.Input {
		err = fmt.Errorf("vectors: an input of tick %d, want %d", tick, w.Input)
	}
	p.session.Input(0) // sends the input
	return err
}

// take makes the client hand out its provisional handles up to h.
func (p *Player) take(h bulk.Handle) error {
	for p.taken <= h.Index() {
		p.taken++
		if _, err := p.session.Provisional(); err != nil {
			return err
		}
	}
	return nil
}
