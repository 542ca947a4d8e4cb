package wire

// BodyComponent is the schema name of Body. The server fills it from the world's
// bodies, and every other component from the world component of the same name.
const BodyComponent = "body"

// Body is an entity's position and velocity, registered in a schema as
// BodyComponent. Six raw floats would be 192 bits; quantised they are 102.
type Body struct {
	Position [3]float32 `net:"range=-1024..1024,step=1/256,predict=linear"` // metres, y up
	Velocity [3]float32 `net:"range=-128..128,step=1/32,predict=linear"`    // metres a second
}
