// The motion of the demo's avatars, bit for bit as in internal/scenes/steering.

export interface Stick {
  X: number
  Z: number
}

export interface Avatar {
  Position: number[]
  Velocity: number[]
}

const f = Math.fround

export interface Motion {
  readonly tickHz: number
  readonly speed: number
  readonly halfX: number
  readonly halfZ: number
}

/** Returns the course of a stick, at most 1 long. */
function course(s: Stick): [number, number] {
  const x = f(Math.max(s.X, -127) / 127)
  const z = f(Math.max(s.Z, -127) / 127)
  const length = Math.sqrt(x * x + z * z)
  return length > 1 ? [f(x / length), f(z / length)] : [x, z]
}

/** Moves an avatar by one tick. */
export function steer(m: Motion, body: Avatar, s: Stick): void {
  const [x, z] = course(s)
  axis(m, body, 0, x, m.halfX)
  axis(m, body, 2, z, m.halfZ)
}

function axis(m: Motion, body: Avatar, i: number, course: number, half: number): void {
  let v = f(course * m.speed)
  const at = f(body.Position[i]! + f(v * f(1 / m.tickHz)))
  body.Position[i] = Math.min(Math.max(at, -half), half)
  if (body.Position[i] !== at) v = 0
  body.Velocity[i] = v
}
