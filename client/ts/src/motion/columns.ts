// Bodies in columns, one row each, and the exact state of one body.

/** The exact state of a body: in metres, m/s and ticks at rest. */
export class State {
  x = 0
  y = 0
  z = 0
  vx = 0
  vy = 0
  vz = 0
  rest = 0
  awake = false // the next tick moves the body

  copy(s: State): this {
    this.x = s.x
    this.y = s.y
    this.z = s.z
    this.vx = s.vx
    this.vy = s.vy
    this.vz = s.vz
    this.rest = s.rest
    this.awake = s.awake
    return this
  }
}

/** Bodies in columns, for which add makes room. */
export class Columns {
  x = new Float32Array(64)
  y = new Float32Array(64)
  z = new Float32Array(64)
  vx = new Float32Array(64)
  vy = new Float32Array(64)
  vz = new Float32Array(64)
  rest = new Uint32Array(64)
  kind = new Uint16Array(64)
  number = new Uint32Array(64)
  length = 0

  /** Adds a row and returns it. Its content is undefined. */
  add(): number {
    if (this.length === this.x.length) this.#grow()
    return this.length++
  }

  #grow(): void {
    this.x = grown(this.x, Float32Array)
    this.y = grown(this.y, Float32Array)
    this.z = grown(this.z, Float32Array)
    this.vx = grown(this.vx, Float32Array)
    this.vy = grown(this.vy, Float32Array)
    this.vz = grown(this.vz, Float32Array)
    this.rest = grown(this.rest, Uint32Array)
    this.kind = grown(this.kind, Uint16Array)
    this.number = grown(this.number, Uint32Array)
  }

  set(row: number, s: State): void {
    this.x[row] = s.x
    this.y[row] = s.y
    this.z[row] = s.z
    this.vx[row] = s.vx
    this.vy[row] = s.vy
    this.vz[row] = s.vz
    this.rest[row] = s.rest
  }

  /** Sets s to a row, except awake. */
  get(row: number, s: State): void {
    s.x = this.x[row]!
    s.y = this.y[row]!
    s.z = this.z[row]!
    s.vx = this.vx[row]!
    s.vy = this.vy[row]!
    s.vz = this.vz[row]!
    s.rest = this.rest[row]!
  }

  /** Stops the body of a row, as falling asleep requires. */
  fallAsleep(row: number): void {
    this.vx[row] = this.vy[row] = this.vz[row] = this.rest[row] = 0
  }

  swap(i: number, j: number): void {
    swap(this.x, i, j)
    swap(this.y, i, j)
    swap(this.z, i, j)
    swap(this.vx, i, j)
    swap(this.vy, i, j)
    swap(this.vz, i, j)
    swap(this.rest, i, j)
    swap(this.kind, i, j)
    swap(this.number, i, j)
  }
}

type Column = Float32Array | Uint32Array | Uint16Array

/** Returns a copy of a column with twice the capacity. */
function grown<T extends Column>(old: T, Kind: new (length: number) => T): T {
  const to = new Kind(2 * old.length)
  to.set(old)
  return to
}

function swap(column: Column, i: number, j: number): void {
  const old = column[i]!
  column[i] = column[j]!
  column[j] = old
}
