package motion

import "math"

// Vec3 is a point, direction or velocity in metres and seconds; Y is up.
type Vec3 struct{ X, Y, Z float32 }

// VecOf returns the vector of three coordinates, as schemas and messages have them.
func VecOf(a [3]float32) Vec3 { return Vec3{a[0], a[1], a[2]} }

// Array returns the coordinates of v.
func (v Vec3) Array() [3]float32 { return [3]float32{v.X, v.Y, v.Z} }

// Add returns v + o.
func (v Vec3) Add(o Vec3) Vec3 { return Vec3{v.X + o.X, v.Y + o.Y, v.Z + o.Z} }

// Sub returns v - o.
func (v Vec3) Sub(o Vec3) Vec3 { return Vec3{v.X - o.X, v.Y - o.Y, v.Z - o.Z} }

// Scale returns v multiplied by s.
func (v Vec3) Scale(s float32) Vec3 {
	return Vec3{float32(v.X * s), float32(v.Y * s), float32(v.Z * s)}
}

// Dot returns the scalar product. Products are rounded before they are added, so that no
// compiler may fuse them and all machines compute the same bits.
func (v Vec3) Dot(o Vec3) float32 {
	return float32(v.X*o.X) + float32(v.Y*o.Y) + float32(v.Z*o.Z)
}

// Len returns the length: the correctly rounded root of Dot(v, v).
func (v Vec3) Len() float32 { return sqrt(v.Dot(v)) }

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// MaxSpeed is the highest speed of a body in m/s. At 60 Hz a body moves at most 2.2 m per
// tick, and the wire format's velocity range of ±128 m/s holds it.
const MaxSpeed = 128

// Finite reports whether no coordinate is NaN or infinite: x-x is zero exactly for
// finite numbers.
func Finite(v Vec3) bool {
	return v.X-v.X == 0 && v.Y-v.Y == 0 && v.Z-v.Z == 0
}

// CapSpeed returns v shortened to MaxSpeed. It computes in double precision, because the
// square of a finite float32 may overflow a float32.
func CapSpeed(v Vec3) Vec3 {
	x, y, z := float64(v.X), float64(v.Y), float64(v.Z)
	square := float64(x*x) + float64(y*y) + float64(z*z)
	if square <= MaxSpeed*MaxSpeed {
		return v
	}
	s := MaxSpeed / math.Sqrt(square)
	return Vec3{float32(x * s), float32(y * s), float32(z * s)}
}
