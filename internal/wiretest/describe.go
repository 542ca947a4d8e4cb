package wiretest

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/worldd/worldd/replication/wire"
)

// Floats returns the list of values in the form that effects have.
func Floats(values ...float32) (f wire.Floats) {
	for _, x := range values {
		f = binary.LittleEndian.AppendUint32(f, math.Float32bits(x))
	}
	return f
}

// Describe formats a stream message of either direction, or says why it is malformed. It omits
// secrets.
func Describe(kind byte, body []byte) string {
	m, err := parseAny(kind, body)
	if err != nil {
		return fmt.Sprintf("type %d, %d bytes: %v", kind, len(body), err)
	}
	return m.String()
}

func parseAny(kind byte, body []byte) (fmt.Stringer, error) {
	switch kind {
	case wire.TypeHello:
		return stringer(wire.Parse[wire.Hello](body))
	case wire.TypeCommand:
		return stringer(wire.Parse[wire.Command](body))
	case wire.TypeBye:
		return stringer(wire.Parse[wire.Bye](body))
	case wire.TypePad:
		return stringer(wire.Parse[wire.Pad](body))
	case wire.TypeResync:
		return stringer(wire.Parse[wire.Resync](body))
	case wire.TypeArrived:
		return stringer(wire.Parse[wire.Arrived](body))
	case wire.TypeListRooms:
		return stringer(wire.Parse[wire.ListRooms](body))
	case wire.TypeRoomList:
		return stringer(wire.Parse[wire.RoomList](body))
	case wire.TypeWelcome:
		return stringer(wire.Parse[wire.Welcome](body))
	case wire.TypeRefused:
		return stringer(wire.Parse[wire.Refused](body))
	case wire.TypeStructure:
		return stringer(wire.ParseStructure(body))
	case wire.TypeResult:
		return stringer(wire.Parse[wire.Result](body))
	case wire.TypeControl:
		return stringer(wire.Parse[wire.Control](body))
	case wire.TypeGoodbye:
		return stringer(wire.Parse[wire.Goodbye](body))
	}
	return nil, fmt.Errorf("no message type %d", kind)
}

func stringer[M fmt.Stringer](m M, err error) (fmt.Stringer, error) { return m, err }
