package wire

import "github.com/worldd/worldd/bulk"

// Control tells a client which entity its inputs steer.
type Control struct {
	Entity bulk.Handle // 0: none
}

var controlElements = []element{handleElement("entity")}

// Type is TypeControl.
func (Control) Type() byte { return TypeControl }

// Append appends the body.
func (m Control) Append(b []byte) []byte {
	w := appendBody(b, controlElements)
	w.handle(m.Entity)
	return w.end()
}

// ParseControl reads a body.
func ParseControl(body []byte) (Control, error) {
	r := readBody(body, controlElements)
	m := Control{Entity: r.handle()}
	if err := r.end(); err != nil {
		return Control{}, err
	}
	return m, nil
}
