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
func (m Control) Append(b []byte) []byte { return appendBody(b, &m, controlElements) }

// ParseControl reads a body.
func ParseControl(body []byte) (Control, error) {
	var m Control
	if err := decodeBody(body, &m, controlElements); err != nil {
		return Control{}, err
	}
	return m, nil
}
