package wire

// Body is the component "body": where an entity is, and how fast. It is
// written from the world's bodies, not from a component. Six raw floats would be
// 192 bits; quantised they are 102.
type Body struct {
	Position [3]float32 `net:"range=-1024..1024,step=1/256,predict=linear"` // metres, y up
	Velocity [3]float32 `net:"range=-128..128,step=1/32,predict=linear"`    // metres a second
}
